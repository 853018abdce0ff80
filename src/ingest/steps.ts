import { createHash, hash, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type BatchRefusal, readBatchInTurns } from "#contract/read-batch.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import type { Admitted } from "../backfill/admission.ts";
import { noteAccepted } from "../certification/note-wire.ts";
import { recordAudit } from "../identity/audit.ts";
import type { BearerResult } from "../identity/authenticator.ts";
import { admit, FORBIDDEN, verifyBearer } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { checkMediaType, type ReceivedBody, receiveBody } from "../platform/http/receive-body.ts";
import { faultOf } from "../platform/http/refuse-connection.ts";
import { beginTrace, type MaybeTrace } from "../platform/http/request-trace.ts";
import { noWaits, type RequestWaits } from "../platform/telemetry/request-waits.ts";
import { packTraceContext } from "../platform/telemetry/telemetry.ts";
import type { HttpContext } from "../service-context.ts";
import { type HeaderParameters, readHeaderParameters } from "./header-parameters.ts";
import type { Submission } from "./log/submission.ts";
import type { RedactionList } from "./redact/redaction-list.ts";
import { type RedactedBatch, redactBatch } from "./redact-batch.ts";
import { BatchValidator, type ForeignRecord, RequestCost } from "./validate-batch.ts";

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

/** A data endpoint, and the scope that a client needs to post to it. */
export interface Endpoint {
  readonly route: string;
  readonly resource: Resource;
  readonly scope: string;
}

/** A POST to a data endpoint, and what its steps (pipeline.ts) have found out so far. */
export class DataPost {
  readonly endpoint: Endpoint;
  readonly raw: IncomingMessage;
  /** The value of X-Request-Id. */
  readonly id = randomUUID();
  readonly startedAtMs = performance.now();
  readonly waits = noWaits();
  bearer: BearerResult = { kind: "absent" };
  /** The client, once its token, scope and rate allow the request. */
  principal: Principal | undefined;
  /** How the client's rate stands, once it was asked: every answer from then on tells it. */
  rate: { readonly of: Principal; readonly result: RateResult } | undefined;
  trace: MaybeTrace;
  /** Once they were read: every answer tells what became of them, an error's too. */
  parameters: HeaderParameters | undefined;
  backfill: Admitted | undefined;
  body: ReceivedBody | undefined;
  /** Its memory may be gone once the batch was packed. */
  bodyBytes = 0;
  cost: RequestCost | undefined;
  batch: BatchValidator | undefined;
  kept: RedactedBatch | undefined;
  idempotency: Submission["idempotency"] = null;
  acceptedRequestId: string | undefined;

  constructor(endpoint: Endpoint, raw: IncomingMessage) {
    this.endpoint = endpoint;
    this.raw = raw;
  }
}

/** What an earlier step has left. */
function found<Found>(value: Found | undefined): Found {
  if (value === undefined) throw new Error("A step of the ingest pipeline ran before the one that it needs.");
  return value;
}

export function checkFraming(_context: HttpContext, { raw }: DataPost): void {
  const fault = faultOf(raw);
  if (fault !== undefined) throw fault;
}

export function authenticate(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const bearer = verifyBearer(context, post.raw.headers);
  if (bearer instanceof Promise) {
    return bearer
      .then((known) => {
        post.bearer = known;
      })
      .finally(() => {
        post.waits.authentication = performance.now() - post.startedAtMs;
      });
  }
  post.bearer = bearer;
  return undefined;
}

export function limitRate(context: HttpContext, post: DataPost): void {
  const admission = admit(context, [post.endpoint.scope], post.bearer);
  if (admission.kind === "refused") throw admission.refusal;
  const { principal, rate } = admission;
  post.rate = { of: principal, result: rate };
  if (admission.kind === "limited") throw admission.error;
  // Whoever was let in stays so: what was accepted is answered 202, whatever was revoked meanwhile.
  post.principal = principal;
  post.trace = beginTrace(context.tracer, post.raw.headers["traceparent"], post.startedAtMs);
}

export function readHeaders(_context: HttpContext, post: DataPost): void {
  checkMediaType(post.raw.headers["content-type"]);
  post.parameters = readHeaderParameters(post.raw);
}

export function checkReady(context: HttpContext): void {
  const blocked = context.blockedReason();
  if (blocked === undefined) return;
  throw new ServiceError("bellhop.accept.Unavailable", {
    // No stack: where that was found out says nothing, and the log may lie on the disk that is filling up.
    cause: blocked,
    retryAfterSeconds: BLOCKED_RETRY_AFTER_SECONDS,
  });
}

export function admitBackfill(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { backfillId } = found(post.parameters);
  if (backfillId === null) return undefined;
  const { clientId } = found(post.principal);
  const admitting = context.backfills.admit(clientId, backfillId, post.endpoint.resource).then((admitted) => {
    post.backfill = admitted;
  });
  return countDatabase(post.waits, admitting);
}

export async function receive(context: HttpContext, post: DataPost): Promise<void> {
  const principal = found(post.principal);
  const cost = new RequestCost(context, principal);
  post.cost = cost;
  const startedAt = performance.now();
  const { limits, budget } = context;
  post.body = await receiveBody(post.raw, principal.clientId, limits, budget, (bytes) =>
    charge(post, cost.count(bytes)),
  );
  post.bodyBytes = post.body.bytes.length;
  post.waits.body = performance.now() - startedAt;
}

function charge(post: DataPost, result: RateResult | undefined): void {
  if (result !== undefined) post.rate = { of: found(post.principal), result };
}

export function readRecords(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { resource } = post.endpoint;
  const batch = new BatchValidator(
    resource,
    found(post.parameters).lenient,
    found(post.principal),
    post.backfill,
  );
  post.batch = batch;
  const startedAt = performance.now();
  if (post.trace) post.trace.recordsAtMs = startedAt;
  const reading = readBatchInTurns(found(post.body).bytes, context.limits, resource, (record) =>
    batch.see(record),
  );
  const settle = (refusal: BatchRefusal | undefined) => {
    post.waits.records = performance.now() - startedAt;
    charge(post, found(post.cost).count(post.bodyBytes, batch.seen, batch.useless));
    if (refusal !== undefined) throw refusalError(refusal);
  };
  if (reading instanceof Promise) return reading.then(settle);
  settle(reading);
  return undefined;
}

export function refuseForeign(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { foreign, misplaced } = found(post.batch);
  if (foreign !== undefined) {
    const refuse = () => {
      throw FORBIDDEN;
    };
    return countDatabase(post.waits, auditForeign(context, post, foreign)).then(refuse);
  }
  if (misplaced !== undefined) throw misplacedError(misplaced, post.backfill);
  return undefined;
}

export function judgeRecords(_context: HttpContext, post: DataPost): void {
  post.kept = { ...found(post.batch).judgement(), body: found(post.body).bytes };
}

export function registerProperties(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const registering = context.properties.register(found(post.principal).clientId, found(post.kept).records);
  return registering && countDatabase(post.waits, registering);
}

export function fingerprint(_context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { idempotencyKey: key, lenient, backfillId } = found(post.parameters);
  if (key === null) return undefined;
  // With the backfill, as the first answer to a batch of one would say of the other that it has that batch, too.
  const of = backfillId === null ? "" : `${backfillId}\0`;
  const head = `${post.endpoint.resource}\0${lenient}\0${of}`;
  const made = fingerprintOf(head, found(post.body).bytes);
  const keep = (text: string) => {
    post.idempotency = { key, fingerprint: text };
  };
  if (made instanceof Promise) return made.then(keep);
  keep(made);
  return undefined;
}

export function redact(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const current = context.redactions.current();
  if (current instanceof Promise) return current.then((redactions) => redactBy(redactions, post));
  return redactBy(current, post);
}

function redactBy(redactions: RedactionList, post: DataPost): Promise<void> | undefined {
  const redacting = redactBatch(post.endpoint.resource, found(post.kept), redactions);
  if (redacting instanceof Promise) {
    return redacting.then((kept) => {
      post.kept = kept;
    });
  }
  post.kept = redacting;
  return undefined;
}

export async function append(context: HttpContext, post: DataPost): Promise<void> {
  const { trace, waits, parameters, endpoint } = post;
  const { resource } = endpoint;
  const { lenient, correlationId, replyTo, backfillId } = found(parameters);
  const { body, records, rejected } = found(post.kept);
  const log = post.backfill === undefined ? context.acceptLog : await context.backfillLog();
  const startedAt = performance.now();
  if (trace) trace.appendAtMs = startedAt;
  const acceptance = await log.append({
    clientId: found(post.principal).clientId,
    resource: letterOf(resource),
    body,
    records,
    rejected,
    lenient,
    correlationId,
    replyTo,
    backfillId,
    traceContext: trace ? packTraceContext(trace.span.spanContext()) : undefined,
    idempotency: post.idempotency,
    packed: (bytes) => post.body?.keepOnly(bytes),
  });
  waits.logWriter = acceptance.flushedAt - startedAt;
  waits.flush = performance.now() - acceptance.flushedAt;
  post.acceptedRequestId = acceptance.requestId;
  noteAccepted(context, post, acceptance);
  const meters = context.batchMeters[resource];
  if (acceptance.repeated) meters.repeated();
  else meters.accepted(records.length, rejected.length, post.bodyBytes);
}

/** Counts a wait for the database. */
async function countDatabase<Result>(waits: RequestWaits, asked: Promise<Result>): Promise<Result> {
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

async function auditForeign(
  context: HttpContext,
  { endpoint: { resource }, principal }: DataPost,
  { index, clientCode, propertyCode }: ForeignRecord,
) {
  const { clientId } = found(principal);
  await recordAudit(context.pool, {
    who: `client:${clientId}`,
    what: "refuse-foreign-property",
    clientId,
    detail: { resource, index, clientCode: cutCode(clientCode), propertyCode: cutCode(propertyCode) },
  });
}

function misplacedError(index: number, of: Admitted | undefined): ServiceError {
  return new ServiceError("bellhop.backfill.NotInManifest", {
    message: `Record ${index} is of another property than this backfill's, ${JSON.stringify([of?.clientCode, of?.propertyCode]).replace(/[^\x20-\x7e]/g, "?")}.`,
  });
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}
