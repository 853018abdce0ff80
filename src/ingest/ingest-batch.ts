import { createHash, hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type BatchRecord, type BatchRefusal, readBatchInTurns } from "#contract/read-batch.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import type { Admitted } from "../backfill/admission.ts";
import { noteAccepted, noteRefusal } from "../certification/note-wire.ts";
import { recordAudit } from "../identity/audit.ts";
import { type Principal, permits } from "../identity/principal.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { checkMediaType, type ReceivedBody, receiveBody } from "../platform/http/receive-body.ts";
import type { MaybeTrace } from "../platform/http/request-trace.ts";
import { currentWaits, type RequestWaits } from "../platform/telemetry/request-waits.ts";
import { packTraceContext } from "../platform/telemetry/telemetry.ts";
import type { HttpContext } from "../service-context.ts";
import { type HeaderParameters, readHeaderParameters } from "./header-parameters.ts";
import type { Submission } from "./log/submission.ts";
import { redactBatch } from "./redact-batch.ts";
import { BatchValidator, RequestCost } from "./validate-batch.ts";

/** Hashed in one go, through a copy; what is larger is hashed where it lies. */
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A millisecond or two of hashing: a body of 64 MiB at once would hold the event loop for 50 ms. */
const TURN_BYTES = 2 * 1_048_576;

/**
 * What a repeated Idempotency-Key is compared by: SHA-256, in hexadecimal, over the `head` (path and handling of the
 * request), and the decompressed body. One call on a copy of both takes half the time of a hash object that is fed twice.
 * A promise for what is hashed in turns with other work.
 */
export function fingerprintOf(head: string, body: Buffer): string | Promise<string> {
  const headBytes = Buffer.byteLength(head);
  if (headBytes + body.length <= SCRATCH_BYTES) {
    scratch.write(head);
    body.copy(scratch, headBytes);
    return hash("sha256", scratch.subarray(0, headBytes + body.length), "hex");
  }
  return hashInTurns(head, body);
}

async function hashInTurns(head: string, body: Buffer): Promise<string> {
  const running = createHash("sha256").update(head);
  for (let from = 0; from < body.length; from += TURN_BYTES) {
    if (from > 0) await new Promise((resume) => setImmediate(resume));
    running.update(body.subarray(from, from + TURN_BYTES));
  }
  return running.digest("hex");
}

/** The longest code a record may carry (contract: "codes and ids 128"). */
const CODE_KEPT_CHARACTERS_MAX = 128;
const BLOCKED_RETRY_AFTER_SECONDS = 5;

/** A request to one of the three data endpoints, of a client that may send it. */
export interface DataRequest {
  readonly resource: Resource;
  readonly raw: IncomingMessage;
  readonly principal: Principal;
  readonly waits: RequestWaits;
  readonly trace: MaybeTrace;
  /** Once they were read: every answer tells what became of them, an error's too. */
  parameters?: HeaderParameters;
  /** How the client's rate stands, once the batch counted as more than one request of it. */
  rate?: RateResult | undefined;
}

/** The scope that a client needs to send batches of a resource. */
export function writeScopeOf(resource: Resource): string {
  return `${resource}:write`;
}

/** What became of a batch that is not refused with an error body. `foreign`: it names a property that is not granted. */
export type IngestedBatch =
  | { readonly kind: "accepted"; readonly requestId: string }
  | { readonly kind: "foreign" };

/**
 * Takes a batch: header parameters, body, records, and the durable log, in the contract's order. Resolves once the batch
 * is on disk, and throws ServiceError where it is refused (spec section 7).
 */
export function ingestBatch(context: HttpContext, request: DataRequest): Promise<IngestedBatch> {
  const taken = receiveAndAccept(context, request);
  if (request.principal.certificationId !== null) noteRefusal(context, request, taken);
  return taken;
}

async function receiveAndAccept(context: HttpContext, request: DataRequest): Promise<IngestedBatch> {
  const { raw, principal } = request;
  checkMediaType(raw.headers["content-type"]);
  const parameters = readHeaderParameters(raw);
  request.parameters = parameters;
  const blocked = context.blockedReason();
  if (blocked !== undefined) {
    throw new ServiceError("bellhop.accept.Unavailable", {
      // No stack: where that was found out says nothing, and the log may lie on the disk that is filling up.
      cause: blocked,
      retryAfterSeconds: BLOCKED_RETRY_AFTER_SECONDS,
    });
  }
  // Before its body is read: one that is put off is to cost little.
  const backfill =
    parameters.backfillId === null
      ? undefined
      : await countDatabase(
          request.waits,
          context.backfills.admit(principal.clientId, parameters.backfillId, request.resource),
        );
  const weight = new RequestCost(context, principal);
  try {
    const receivingAt = performance.now();
    const body = await receiveBody(raw, principal.clientId, context.limits, context.budget, (bytes) => {
      request.rate = weight.count(bytes) ?? request.rate;
    });
    request.waits.body = performance.now() - receivingAt;
    try {
      return await acceptBody(context, request, parameters, body, weight, backfill);
    } finally {
      body.release();
    }
  } finally {
    backfill?.done();
  }
}

async function acceptBody(
  context: HttpContext,
  request: DataRequest,
  parameters: HeaderParameters,
  received: ReceivedBody,
  weight: RequestCost,
  backfill: Admitted | undefined,
): Promise<IngestedBatch> {
  const { resource, principal, waits, trace } = request;
  const body = received.bytes;
  // Its memory may be gone once the batch was packed.
  const bodyBytes = body.length;
  const isForeign = watchForForeign(principal);
  const validator = new BatchValidator(resource, parameters.lenient);
  let misplaced: number | undefined;
  let foreign: ForeignRecord | undefined;
  const seen = { records: 0, values: 0 };
  const readingAt = performance.now();
  const reading = readBatchInTurns(body, context.limits, resource, (record) => {
    seen.records += 1;
    seen.values += record.values;
    if (foreign !== undefined) return;
    if (isForeign(record)) {
      const { index, clientCode, propertyCode } = record;
      foreign = { index, clientCode, propertyCode };
      return;
    }
    if (misplaced === undefined && isMisplaced(record, backfill)) misplaced = record.index;
    validator.see(record);
  });
  // What is known at once is not waited for, here and below: with one record a request each wait shows.
  const refusal = reading instanceof Promise ? await reading : reading;
  waits.records = performance.now() - readingAt;
  request.rate = weight.count(bodyBytes, seen, validator.useless) ?? request.rate;
  if (refusal !== undefined) throw refusalError(refusal);
  if (foreign !== undefined) {
    await auditForeign(context, principal, resource, foreign);
    return { kind: "foreign" };
  }
  if (misplaced !== undefined) throw misplacedError(misplaced, backfill);
  const judged = validator.judgement();
  const registering = context.properties.register(principal.clientId, judged.records);
  if (registering !== undefined) await countDatabase(waits, registering);
  const fingerprinted = idempotencyOf(parameters, resource, body);
  const idempotency = fingerprinted instanceof Promise ? await fingerprinted : fingerprinted;
  const known = context.redactions.current();
  const redactions = known instanceof Promise ? await known : known;
  const stripping = redactBatch(resource, { ...judged, body }, redactions);
  const kept = stripping instanceof Promise ? await stripping : stripping;
  const log = backfill === undefined ? context.acceptLog : await context.backfillLog();
  const appendingAt = performance.now();
  if (trace) {
    trace.recordsAtMs = readingAt;
    trace.appendAtMs = appendingAt;
  }
  const acceptance = await log.append({
    clientId: principal.clientId,
    resource: letterOf(resource),
    body: kept.body,
    records: kept.records,
    rejected: kept.rejected,
    lenient: parameters.lenient,
    correlationId: parameters.correlationId,
    replyTo: parameters.replyTo,
    backfillId: parameters.backfillId,
    traceContext: trace ? packTraceContext(trace.span.spanContext()) : undefined,
    idempotency,
    packed: (bytes) => received.keepOnly(bytes),
  });
  const { requestId, repeated, flushedAt } = acceptance;
  waits.logWriter = flushedAt - appendingAt;
  waits.flush = performance.now() - flushedAt;
  noteAccepted(context, request, acceptance);
  const meters = context.batchMeters[resource];
  if (repeated) meters.repeated();
  else meters.accepted(judged.records.length, judged.rejected.length, bodyBytes);
  return { kind: "accepted", requestId };
}

/** Counts a wait for the database, which of a request in the framework's hands the pool counts by itself. */
async function countDatabase<Result>(waits: RequestWaits, asked: Promise<Result>): Promise<Result> {
  if (currentWaits() !== undefined) return asked;
  const askedAt = performance.now();
  try {
    return await asked;
  } finally {
    waits.database += performance.now() - askedAt;
  }
}

/** A refused code was not checked, and may be as long as the body. A character that the cut halves cannot be stored. */
function cutCode(code: string | undefined): string | undefined {
  return code?.slice(0, CODE_KEPT_CHARACTERS_MAX).toWellFormed();
}

/** Watches a batch's records for one that names a property the client was not granted, as far as its codes can be read. */
function watchForForeign(principal: Principal): (record: BatchRecord) => boolean {
  let lastClient: string | undefined;
  let lastProperty: string | undefined;
  return ({ clientCode, propertyCode }) => {
    if (clientCode === undefined || propertyCode === undefined) return false;
    // Most batches name one property: its permission is looked up once.
    if (clientCode === lastClient && propertyCode === lastProperty) return false;
    if (!permits(principal, clientCode, propertyCode)) return true;
    lastClient = clientCode;
    lastProperty = propertyCode;
    return false;
  };
}

type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

async function auditForeign(
  context: HttpContext,
  principal: Principal,
  resource: Resource,
  record: ForeignRecord,
) {
  await recordAudit(context.pool, {
    who: `client:${principal.clientId}`,
    what: "refuse-foreign-property",
    clientId: principal.clientId,
    detail: {
      resource,
      index: record.index,
      clientCode: cutCode(record.clientCode),
      propertyCode: cutCode(record.propertyCode),
    },
  });
}

/** A backfill is of one property: what it brings of another would be counted by nobody. */
function isMisplaced({ clientCode, propertyCode }: BatchRecord, of: Admitted | undefined): boolean {
  if (of === undefined || clientCode === undefined || propertyCode === undefined) return false;
  return clientCode !== of.clientCode || propertyCode !== of.propertyCode;
}

function misplacedError(index: number, of: Admitted | undefined): ServiceError {
  return new ServiceError("bellhop.backfill.NotInManifest", {
    message: `Record ${index} is of another property than this backfill's, ${JSON.stringify([of?.clientCode, of?.propertyCode]).replace(/[^\x20-\x7e]/g, "?")}.`,
  });
}

/**
 * Same client, key and this: the path, how it is to be handled, its backfill if it has one, and the decompressed body. With the
 * backfill, as the first answer to a batch of one would say of the other that it has that batch, too.
 */
function idempotencyOf(
  { idempotencyKey: key, lenient, backfillId }: HeaderParameters,
  resource: Resource,
  body: Buffer,
): Submission["idempotency"] | Promise<Submission["idempotency"]> {
  if (key === null) return null;
  const of = backfillId === null ? "" : `${backfillId}\0`;
  const fingerprint = fingerprintOf(`${resource}\0${lenient}\0${of}`, body);
  if (typeof fingerprint === "string") return { key, fingerprint };
  return fingerprint.then((found) => ({ key, fingerprint: found }));
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}
