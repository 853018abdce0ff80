export type * from "./api-types.ts";
export type { Records } from "./batch.ts";
export type { Change } from "./change.ts";
export type { ChangesQuery, FeedPosition } from "./changes.ts";
export { BellhopClient } from "./client.ts";
export {
  BellhopError,
  type BellhopErrorCode,
  type BellhopErrorFacts,
  type ClientErrorCode,
  type RecordViolation,
} from "./error.ts";
export { JsonBatch } from "./json-batch.ts";
export { JsonRecord } from "./json-record.ts";
export type { BellhopClientOptions, Compression } from "./options.ts";
export type { StatusQuery } from "./outcomes.ts";
export { type BarOptions, type BarStream, progressBar, progressLine } from "./progress-bar.ts";
export { type RecordSource, readRecords } from "./read-records.ts";
export type { Outcomes, RefusedRecord, SendProgress, SendReport, UnconfirmedRecords } from "./report.ts";
export type { RequestsClient } from "./requests-client.ts";
export type { RecordOf, Resource } from "./resource.ts";
export type { ResourceClient } from "./resource-client.ts";
export type { RetryOptions } from "./retry.ts";
export { SendError } from "./send.ts";
export type { AcceptedBatch, SendJournal, SendOptions } from "./send-options.ts";
