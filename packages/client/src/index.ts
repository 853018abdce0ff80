export type * from "./api-types.ts";
export type { Records } from "./batch.ts";
export { JsonBatch, JsonRecord } from "./batch.ts";
export type { Change, ChangesQuery, FeedPosition } from "./changes.ts";
export { BellhopClient } from "./client.ts";
export {
  BellhopError,
  type BellhopErrorCode,
  type BellhopErrorFacts,
  type ClientErrorCode,
  type RecordViolation,
} from "./error.ts";
export type { RetryOptions, WaitNotice } from "./http.ts";
export type {
  AcceptedBatch,
  BellhopClientOptions,
  Compression,
  RecordOf,
  Resource,
  SendOptions,
  StoredToken,
  TokenStore,
} from "./options.ts";
export type { StatusQuery } from "./outcomes.ts";
export { type BarOptions, type BarStream, progressBar, progressLine } from "./progress-bar.ts";
export { type RecordSource, readRecords } from "./read-records.ts";
export type {
  Outcomes,
  RefusedRecord,
  SendProgress,
  SendReport,
  UnconfirmedRecords,
  WarnedRecord,
} from "./report.ts";
export type { RequestsClient, ResourceClient } from "./resource-client.ts";
export { SendError } from "./send.ts";
