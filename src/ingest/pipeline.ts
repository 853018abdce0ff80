import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type BatchRefusal, readBatchInTurns } from "#contract/read-batch.ts";
import type { Resource, ResourceLetter } from "#contract/resource.ts";
import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";
import { recordAudit } from "../identity/audit.ts";
import type { BearerResult } from "../identity/authenticator.ts";
import { admit, lacksGrant, principalAgain, verifyBearer } from "../identity/authorize.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { faultOf } from "../platform/http/connection.ts";
import { checkMediaType, type ReceivedBody, receiveBody } from "../platform/http/receive-body.ts";
import { beginTrace, type MaybeTrace } from "../platform/http/request-log.ts";
import { noWaits, type RequestWaits } from "../platform/telemetry/log.ts";
import { packTraceContext } from "../platform/telemetry/telemetry.ts";
import { BatchValidator, type ForeignRecord } from "./batch-validator.ts";
import type { Admitted, DataContext } from "./data-context.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type HeaderParameters, misspeltHandling, readHeaderParameters } from "./header-parameters.ts";
import { findAccepted } from "./log/accept-log.ts";
import type { Submission } from "./log/submission.ts";
import { type CheckedBatch, type RedactionList, redactBatch } from "./redact.ts";
import { type RequestCost, requestCost } from "./request-cost.ts";

/** What steps find out, for those that follow. */
interface Findings {
  readonly principal: Principal;
  readonly parameters: HeaderParameters;
  readonly cost: RequestCost;
  readonly body: ReceivedBody;
  readonly batch: BatchValidator;
  readonly kept: CheckedBatch;
}

/** A POST of which these are known. */
type Knows<Name extends keyof Findings> = DataPost & Pick<Findings, Name>;

type Step<Post> = (context: DataContext, post: Post) => Promise<void> | undefined | void;

/** Steps in their order. The compiler refuses a step before those whose findings it needs. */
class Steps<Known extends keyof Findings = never> {
  readonly list: readonly Step<never>[];

  constructor(list: readonly Step<never>[] = []) {
    this.list = list;
  }

  /** Adds a step, which finds these out. */
  step<Found extends keyof Findings = never>(
    next: Step<Knows<Known>>,
    ..._found: readonly Found[]
  ): Steps<Known | Found> {
    return new Steps([...this.list, next]);
  }
}

/** The steps of a POST to a data endpoint, in the order of the contract. A step adds its results to the post or throws a refusal. */
const STEPS = new Steps()
  .step(checkFraming) // 400, and the connection is closed
  .step(authenticate) // 401 no bearer token, 403 invalid token
  .step(limitRate, "principal") // 403 scope, 429
  .step(readHeaders, "parameters") // 415 media type, 422 optional headers
  .step(checkReady) // 503 disk almost full, no log writer
  .step(admitBackfill) // 409, 422, 429: before the body is read, so that refusing costs little
  .step(receive, "cost", "body") // 413, 415, 503; inflates, and charges the client's rate for bytes as they arrive
  .step(readRecords, "batch") // 400 not a JSON array; checks each record and charges the client's rate for them
  .step(refuseForeign) // 403 property not granted, 422 not the backfill's property
  .step(readmitBackfill) // 409: the backfill may have ended while the body was received
  .step(validateRecords, "kept") // 400 invalid records, 409 backfill; repeats the answer of a known Idempotency-Key
  .step(registerProperties) // 429 too many new properties
  .step(fingerprint) // path, handling and body, for the Idempotency-Key
  .step(redact) // according to the erasure list and the client code's settings
  .step(authorizeAgain) // 403: permissions may have ended while the body was received
  .step(append).list as readonly Step<DataPost>[]; // 409 Idempotency-Key reused, 503; durable once it resolves

/** Resolves once the batch is durable, with its id in `post.acceptedRequestId`. Throws EmptyRefusal or an error for `asServiceError`. */
export async function acceptPost(context: DataContext, post: DataPost): Promise<void> {
  try {
    for (const step of STEPS) {
      const pending = step(context, post);
      // Awaiting only promises is measurably faster for requests of one record.
      if (pending !== undefined) await pending;
      if (post.acceptedRequestId !== undefined) break;
    }
  } finally {
    post.body?.release();
    post.backfill?.done();
  }
}

const BLOCKED_RETRY_AFTER_SECONDS = 5;

/** Counts the batches of an endpoint. */
export interface BatchMeter {
  accepted(records: number, rejected: number, bodyBytes: number): void;
  repeated(): void;
}

/** A data endpoint, and the scope that a client needs to post to it. */
export interface Endpoint {
  readonly route: string;
  readonly resource: Resource;
  readonly letter: ResourceLetter;
  readonly scope: string;
  readonly meter: BatchMeter;
}

/** A POST to a data endpoint, and the results of its steps. */
export class DataPost {
  readonly endpoint: Endpoint;
  readonly raw: IncomingMessage;
  /** The value of X-Request-Id. */
  readonly id = randomUUID();
  readonly startedAtMs = performance.now();
  readonly waits = noWaits();
  bearer: BearerResult = { kind: "absent" };
  /** Set once the request is authorised and within the client's rate. */
  principal: Principal | undefined;
  /** Set once the rate was checked; later responses report it. */
  rate: { readonly of: Principal; readonly result: RateResult } | undefined;
  trace: MaybeTrace;
  /** Set once the headers are read; later responses, including errors, report how they were applied. */
  parameters: HeaderParameters | undefined;
  backfill: Admitted | undefined;
  /** The backfill has ended. With an Idempotency-Key the batch may have been accepted before, which only its body shows. */
  notOpen: ServiceError | undefined;
  body: ReceivedBody | undefined;
  /** Kept because the body may be released once the batch is packed. */
  bodyBytes = 0;
  cost: RequestCost | undefined;
  batch: BatchValidator | undefined;
  kept: CheckedBatch | undefined;
  idempotency: Submission["idempotency"] = null;
  acceptedRequestId: string | undefined;
  /** The batch was accepted before, under the same Idempotency-Key. */
  isReplayed = false;

  constructor(endpoint: Endpoint, raw: IncomingMessage) {
    this.endpoint = endpoint;
    this.raw = raw;
  }
}

/** Calls `use` synchronously if the value is no promise: awaits are measurable in requests of one record. */
function whenKnown<Known>(
  value: Known | Promise<Known>,
  use: (known: Known) => Promise<void> | undefined | void,
): Promise<void> | undefined {
  return (value instanceof Promise ? value.then(use) : use(value)) ?? undefined;
}

function checkFraming(_context: DataContext, { raw }: DataPost): void {
  const fault = faultOf(raw);
  if (fault !== undefined) throw fault;
}

function authenticate(context: DataContext, post: DataPost): Promise<void> | undefined {
  const bearer = verifyBearer(context, post.raw);
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

function limitRate(context: DataContext, post: DataPost): void {
  const admission = admit(context, [post.endpoint.scope], post.bearer);
  if (admission.kind === "refused") throw admission.refusal;
  const { principal, rate } = admission;
  post.rate = { of: principal, result: rate };
  if (admission.kind === "limited") throw admission.error;
  post.principal = principal;
  post.trace = beginTrace(context.tracer, post.raw.headers["traceparent"], post.startedAtMs);
}

function readHeaders(_context: DataContext, post: DataPost): void {
  checkMediaType(post.raw.headers["content-type"]);
  post.parameters = readHeaderParameters(post.raw);
}

export function checkReady(context: DataContext): void {
  const blocked = context.blockedReason();
  if (blocked === undefined) return;
  throw new ServiceError("bellhop.accept.Unavailable", {
    // Not an Error: a stack would not help, and the log may be on the disk that is filling up.
    cause: blocked,
    retryAfterSeconds: BLOCKED_RETRY_AFTER_SECONDS,
  });
}

function admitBackfill(
  context: DataContext,
  post: Knows<"principal" | "parameters">,
): Promise<void> | undefined {
  const { backfillId } = post.parameters;
  if (backfillId === null) return undefined;
  const { clientId } = post.principal;
  const admitting = context.backfills.admit(clientId, backfillId, post.endpoint.resource);
  return whileOpen(
    post,
    admitting.then((admitted) => {
      post.backfill = admitted;
    }),
  );
}

function whileOpen(post: Knows<"parameters">, asking: Promise<unknown>): Promise<void> {
  const { idempotencyKey } = post.parameters;
  const handled = asking.then(
    () => undefined,
    (refusal) => {
      if (idempotencyKey === null || refusal.code !== "bellhop.backfill.NotOpen") throw refusal;
      post.notOpen = refusal;
    },
  );
  return countDatabase(post.waits, handled);
}

function readmitBackfill(_context: DataContext, post: Knows<"parameters">): Promise<void> | undefined {
  return post.backfill && whileOpen(post, post.backfill.stillOpen());
}

async function receive(context: DataContext, post: Knows<"principal">): Promise<void> {
  const principal = post.principal;
  const cost = requestCost(context, principal);
  post.cost = cost;
  const startedAt = performance.now();
  const { limits, budget } = context;
  post.body = await receiveBody(post.raw, principal.clientId, limits, budget, (bytes) =>
    charge(post, cost(bytes)),
  );
  post.bodyBytes = post.body.bytes.length;
  post.waits.body = performance.now() - startedAt;
}

function charge(post: Knows<"principal">, result: RateResult | undefined): void {
  if (result !== undefined) post.rate = { of: post.principal, result };
}

function readRecords(
  context: DataContext,
  post: Knows<"principal" | "parameters" | "cost" | "body">,
): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (settings) => readRecordsBy(settings, context, post));
}

function readRecordsBy(
  settings: RedactionList,
  context: DataContext,
  post: Knows<"principal" | "parameters" | "cost" | "body">,
): Promise<void> | undefined {
  const { resource } = post.endpoint;
  const body = post.body.bytes;
  const batch = new BatchValidator({
    resource,
    lenient: post.parameters.lenient,
    principal: post.principal,
    backfill: post.backfill,
    body,
    settings,
  });
  post.batch = batch;
  const startedAt = performance.now();
  if (post.trace) post.trace.recordsAtMs = startedAt;
  const { limits } = context;
  const nullsAbsent = post.principal.nulls === "absent";
  const reading = readBatchInTurns(
    body,
    nullsAbsent ? { ...limits, nullsAbsent } : limits,
    resource,
    (record) => batch.add(record),
  );
  const settle = (refusal: BatchRefusal | undefined) => {
    post.waits.records = performance.now() - startedAt;
    charge(post, post.cost(post.bodyBytes, batch.all, batch.unusable));
    if (refusal !== undefined) throw refusalError(refusal);
  };
  return whenKnown(reading, settle);
}

function refuseForeign(context: DataContext, post: Knows<"principal" | "batch">): Promise<void> | undefined {
  const { foreign, misplaced } = post.batch;
  if (foreign !== undefined) {
    const refuse = () => {
      throw lacksGrant(foreign.clientCode ?? "", foreign.propertyCode ?? "", foreign.index);
    };
    return countDatabase(post.waits, auditForeign(context, post, foreign)).then(refuse);
  }
  if (misplaced !== undefined) throw misplacedError(misplaced, post.backfill);
  return undefined;
}

function validateRecords(
  context: DataContext,
  post: Knows<"principal" | "parameters" | "body" | "batch">,
): Promise<void> | undefined {
  const { preferenceApplied, idempotencyKey } = post.parameters;
  const hint = () => (preferenceApplied === null ? misspeltHandling(post.raw.headers) : "");
  try {
    if (post.notOpen !== undefined) throw post.notOpen;
    post.kept = { ...post.batch.result(hint), body: post.body.bytes };
    return undefined;
  } catch (refusal) {
    if (idempotencyKey === null) throw refusal;
    return repeatAnswer(context, post, refusal);
  }
}

/** Repeats the answer of a batch accepted before under this key, although a setting would refuse it now or its backfill has ended. */
async function repeatAnswer(
  context: DataContext,
  post: Knows<"principal" | "parameters" | "body">,
  refusal: unknown,
): Promise<void> {
  await fingerprint(context, post);
  const { clientId } = post.principal;
  const finding = findAccepted(context.pool, clientId, post.idempotency);
  const requestId = await countDatabase(post.waits, finding);
  if (requestId === undefined) throw refusal;
  post.acceptedRequestId = requestId;
  post.isReplayed = true;
  context.batchWatch.accepted(post, { requestId, repeated: true });
  post.endpoint.meter.repeated();
}

function registerProperties(
  context: DataContext,
  post: Knows<"principal" | "kept">,
): Promise<void> | undefined {
  const registering = context.properties.register(post.principal.clientId, post.kept.records);
  return registering && countDatabase(post.waits, registering);
}

function fingerprint(_context: DataContext, post: Knows<"parameters" | "body">): Promise<void> | undefined {
  const { idempotencyKey: key, lenient, backfillId } = post.parameters;
  if (key === null) return undefined;
  // Includes the backfill: otherwise a repeated key would make one backfill claim the batch of another.
  const of = backfillId === null ? "" : `${backfillId}\0`;
  const head = `${post.endpoint.resource}\0${lenient}\0${of}`;
  return whenKnown(fingerprintOf(head, post.body.bytes), (made) => {
    post.idempotency = { key, fingerprint: made };
  });
}

function redact(context: DataContext, post: Knows<"kept">): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (redactions) =>
    whenKnown(redactBatch(post.endpoint.resource, post.kept, redactions), (kept) => {
      post.kept = kept;
    }),
  );
}

function authorizeAgain(context: DataContext, post: Knows<"principal" | "kept">): Promise<void> | undefined {
  const { principal, bearer, endpoint } = post;
  if (principal === undefined || bearer.kind !== "ok") return undefined;
  const known = principalAgain(context, principal, bearer.version, [endpoint.scope]);
  if (known === principal) return undefined;
  return whenKnown(known, (current) => {
    post.principal = current;
    const foreign = post.kept.records.find(
      ({ clientCode, propertyCode }) => !permits(current, clientCode, propertyCode),
    );
    if (foreign === undefined) return undefined;
    return countDatabase(post.waits, auditForeign(context, post, foreign)).then(() => {
      throw lacksGrant(foreign.clientCode, foreign.propertyCode, foreign.index);
    });
  });
}

/** Applying a batch of this size takes tenths of a second, for which smaller ones need not wait (docs/decisions/0007). */
const LARGE_RECORDS = 2_000;
const LARGE_BYTES = 4 * 1_048_576;

async function append(
  context: DataContext,
  post: Knows<"principal" | "parameters" | "batch" | "kept">,
): Promise<void> {
  const { trace, waits, parameters } = post;
  const { letter, meter } = post.endpoint;
  const { lenient, correlationId, replyTo, backfillId } = parameters;
  const { body, records, rejected } = post.kept;
  const { clientId } = post.principal;
  const isLarge = records.length >= LARGE_RECORDS || body.length >= LARGE_BYTES;
  const isHeavy = context.heavySenders.yields(clientId, letter === "i" ? 0 : post.batch.valuesBeyond);
  const yields = post.backfill !== undefined || isLarge || isHeavy;
  const log = yields ? await context.yieldingLog() : context.acceptLog;
  const startedAt = performance.now();
  if (trace) trace.appendAtMs = startedAt;
  const acceptance = await log.append({
    clientId,
    resource: letter,
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
  post.isReplayed = acceptance.repeated;
  context.batchWatch.accepted(post, acceptance);
  if (acceptance.repeated) meter.repeated();
  else meter.accepted(records.length, rejected.length, post.bodyBytes);
}

async function countDatabase<Result>(waits: RequestWaits, asked: Promise<Result>): Promise<Result> {
  const askedAt = performance.now();
  try {
    return await asked;
  } finally {
    waits.database += performance.now() - askedAt;
  }
}

/** Truncates an unchecked code. A surrogate pair cut in half could not be stored. */
function cutCode(code: string | undefined): string | undefined {
  return code?.slice(0, CODE_CHARACTERS_MAX).toWellFormed();
}

async function auditForeign(
  context: DataContext,
  { endpoint: { resource }, principal }: Knows<"principal">,
  { index, clientCode, propertyCode }: ForeignRecord,
) {
  const { clientId } = principal;
  await recordAudit(context.pool, {
    who: `client:${clientId}`,
    what: "refuse-foreign-property",
    clientId,
    detail: { resource, index, clientCode: cutCode(clientCode), propertyCode: cutCode(propertyCode) },
  });
}

function misplacedError(index: number, of: Admitted | undefined): ServiceError {
  return new ServiceError("bellhop.backfill.NotInManifest", {
    message: `Record ${index} is not of this backfill's property, ${JSON.stringify([of?.clientCode, of?.propertyCode]).replace(/[^\x20-\x7e]/g, "?")}.`,
  });
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}
