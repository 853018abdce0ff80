import { type Batch, batchOf, byCodes, codesOf, type Item, idempotencyKeyOf, pack } from "./batch.ts";
import { apiPath, type Connection } from "./connection.ts";
import { BellhopError, type RecordViolation } from "./error.ts";
import { type RetryNotice, readJson, unexpectedAnswer } from "./http.ts";
import type { Resource, SendSettings } from "./options.ts";
import type { RefusedRecord, Tally } from "./report.ts";

export interface Accepted {
  readonly requestId: string;
  readonly isReplayed: boolean;
  readonly idempotencyKey: string;
  readonly batch: Batch;
}

interface Attempt {
  readonly accepted?: Accepted;
  readonly rest?: readonly (readonly Item[])[];
}

const ANSWER_BYTES_MAX = 65_536;
const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Properties that the service refused for this client; each is tried once. */
const FORBIDDEN_PAIRS_MAX = 10_000;

/** Errors that a smaller batch may avoid. */
const DIVISIBLE = new Set([
  "bellhop.contract.InvalidRecords",
  "bellhop.contract.MalformedJson",
  "bellhop.contract.TooManyRecords",
  "bellhop.http.PayloadTooLarge",
  "http.413",
]);
const OF_PROPERTY = new Set(["oauth.insufficient_scope", "http.403", "bellhop.accept.TooManyNewProperties"]);

/** Delivers the batches of one `send`. Splits a refused batch until each record is accepted or refused with its reason. */
export class Delivery {
  readonly #connection: Connection;
  readonly #resource: Resource;
  readonly #settings: SendSettings;
  readonly #tally: Tally;
  readonly #forbidden = new Map<string, BellhopError>();
  readonly #faults = new FaultWatch();
  readonly #givenUp = { batches: 0, records: 0 };
  #lastFault: BellhopError | undefined;

  constructor(connection: Connection, resource: Resource, settings: SendSettings, tally: Tally) {
    this.#connection = connection;
    this.#resource = resource;
    this.#settings = settings;
    this.#tally = tally;
  }

  /** Calls `follow` for each accepted part. Rejects if delivery cannot continue; the remaining records are reported as unconfirmed. */
  async deliver(
    batch: Batch,
    signal: AbortSignal,
    follow: (accepted: Accepted) => Promise<void>,
  ): Promise<void> {
    /** Unsettled parts; the next one is last. */
    const parts = [batch];
    try {
      for (let part = parts.at(-1); part !== undefined; part = parts.at(-1)) {
        const allowed = this.#withoutForbidden(part);
        parts.splice(-1, 1, allowed);
        const { accepted, rest = [] } = allowed.count === 0 ? {} : await this.#attempt(allowed, signal);
        parts.splice(-1, 1, ...rest.map(batchOf).reverse());
        if (accepted === undefined) continue;
        this.#accept(accepted);
        await follow(accepted);
      }
    } catch (error) {
      this.#leave(parts.reverse(), error);
      throw error;
    }
  }

  /** The error of batches that were given up. */
  failure(): BellhopError | undefined {
    const { batches, records } = this.#givenUp;
    if (this.#lastFault === undefined) return undefined;
    const what = batches === 1 ? "a batch" : `${batches} batches`;
    return ofFault(
      `${records} records in ${what} were not delivered: the service answered 500 again and again.`,
      this.#lastFault,
    );
  }

  refuseUnwritable(index: number, record: unknown, message: string): void {
    this.#report({ index, record, code: "client.NotJson", message, violations: [] });
  }

  /** Returns the accepted batch, or the parts of it to send again. Rejects if delivery cannot continue. */
  async #attempt(batch: Batch, signal: AbortSignal): Promise<Attempt> {
    const watched = this.#faults.watched();
    try {
      return { accepted: await this.#post(batch, signal, watched) };
    } catch (error) {
      if (isFault(error)) {
        if (!this.#faults.giveUp(watched.failedAt ?? performance.now())) throw inARow(error);
        this.#giveUp(batch, error);
        return {};
      }
      const rest = error instanceof BellhopError ? this.#takeApart(batch, error) : undefined;
      if (rest === undefined) throw error;
      return { rest };
    }
  }

  async #post(batch: Batch, signal: AbortSignal, { patienceMsOf }: FaultyRequest): Promise<Accepted> {
    const { lenient, correlationId, headers = {} } = this.#settings;
    const path = apiPath(this.#resource);
    const plain = batch.body();
    const idempotencyKey = idempotencyKeyOf([path, lenient ? "lenient" : "strict", headers], plain);
    const packed = await pack(plain, this.#connection.settings.compression);
    const answer = await this.#connection.ask(
      {
        method: "POST",
        path,
        body: packed.body,
        headers: {
          ...headers,
          "content-type": "application/json",
          "idempotency-key": idempotencyKey,
          ...packed.headers,
          ...(lenient ? { prefer: "handling=lenient" } : {}),
          ...(correlationId === undefined ? {} : { "x-correlation-id": correlationId }),
        },
        signal,
        onRetry: (notice) => this.#waiting(notice),
        patienceMsOf,
      },
      readAccepted,
    );
    return { ...answer, idempotencyKey, batch };
  }

  #accept({ requestId, isReplayed, idempotencyKey, batch }: Accepted): void {
    this.#faults.accepted(performance.now());
    this.#tally.waiting = undefined;
    this.#tally.accept(batch.count, requestId, isReplayed);
    this.#settings.onAccepted?.({
      requestId,
      idempotencyKey,
      isReplayed,
      indexes: batch.items().map(({ index }) => index),
    });
  }

  #waiting({ error, delayMs }: RetryNotice): void {
    this.#tally.retries += 1;
    this.#tally.waiting = { reason: error.message, ms: delayMs };
    this.#settings.onProgress?.(this.#tally.progress());
  }

  /** The parts of a refused batch to send again; undefined if no batch could succeed. */
  #takeApart(batch: Batch, error: BellhopError): (readonly Item[])[] | undefined {
    if (OF_PROPERTY.has(error.exception)) return this.#divideByCodes(batch.items(), error);
    if (!DIVISIBLE.has(error.exception)) return undefined;
    const items = batch.items();
    const named = new Map<number, RecordViolation[]>();
    for (const violation of error.violations) {
      const listed = named.get(violation.index);
      if (listed === undefined) named.set(violation.index, [violation]);
      else listed.push(violation);
    }
    const sound = items.filter((item, at) => {
      const violations = named.get(at);
      if (violations === undefined) return true;
      this.#refuse(item, error, violations);
      return false;
    });
    if (sound.length < items.length) return sound.length === 0 ? [] : [sound];
    const [only] = items;
    if (items.length === 1 && only !== undefined) {
      this.#refuse(only, error, []);
      return [];
    }
    const middle = Math.ceil(items.length / 2);
    return [items.slice(0, middle), items.slice(middle)];
  }

  #divideByCodes(items: readonly Item[], error: BellhopError): (readonly Item[])[] {
    const groups = byCodes(items);
    const [[codes] = [""]] = groups;
    if (groups.size > 1) return [...groups.values()];
    if (this.#forbidden.size < FORBIDDEN_PAIRS_MAX) this.#forbidden.set(codes, error);
    for (const item of items) this.#refuse(item, error, []);
    return [];
  }

  /** Skips properties refused earlier in this `send`, because each attempt is an entry in the operator's audit log. */
  #withoutForbidden(batch: Batch): Batch {
    if (this.#forbidden.size === 0) return batch;
    const items = batch.items();
    const allowed = items.filter((item) => {
      const error = this.#forbidden.get(codesOf(item));
      if (error !== undefined) this.#refuse(item, error, []);
      return error === undefined;
    });
    return allowed.length === items.length ? batch : batchOf(allowed);
  }

  #refuse({ index, record }: Item, error: BellhopError, found: readonly RecordViolation[]): void {
    const violations = found.map((violation) => ({ ...violation, index, record }));
    const [first] = violations;
    const code = first?.code ?? error.exception;
    // The message contains an index within the refused batch, and names only one record of the property.
    const message = first?.message ?? error.message.replace(/^Record \d+ /, "The record ");
    this.#report({ index, record, code, message, violations });
  }

  #report(refusal: Omit<RefusedRecord, "outcome" | "requestId">): void {
    const refused: RefusedRecord = { ...refusal, outcome: "rejected", requestId: undefined };
    this.#tally.refuse(refused);
    this.#settings.onRefused?.(refused);
  }

  #giveUp(batch: Batch, error: BellhopError): void {
    this.#givenUp.batches += 1;
    this.#givenUp.records += batch.count;
    this.#lastFault = error;
    this.#tally.waiting = undefined;
    this.#leave([batch], error);
  }

  #leave(parts: readonly Batch[], error: unknown): void {
    const [leading] = parts;
    if (leading === undefined) return;
    const { first, given } = leading;
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const reason = error instanceof Error ? error.message : String(error);
    const { exception: code, status, requestId } = error instanceof BellhopError ? error : {};
    this.#tally.leaveUnconfirmed({ first, count, given, reason, code, status, requestId });
  }
}

function inARow(error: BellhopError): BellhopError {
  return ofFault(
    `The service answered 500 to ${FAULTS_IN_A_ROW_MAX} batches one after another, to each again and again; no more are tried.`,
    error,
  );
}

function ofFault(message: string, cause: BellhopError): BellhopError {
  const { exception, status, requestId, retryable } = cause;
  const name = requestId === undefined ? "" : ` Name request ${requestId} when you ask for help.`;
  return new BellhopError(`${message}${name}`, { exception, status, requestId, retryable, cause });
}

async function readAccepted(response: Response): Promise<Pick<Accepted, "requestId" | "isReplayed">> {
  const answer = await readJson<{ readonly requestId?: unknown }>(response, ANSWER_BYTES_MAX);
  const { requestId } = answer ?? {};
  if (response.status === 202 && typeof requestId === "string" && REQUEST_ID.test(requestId))
    return { requestId, isReplayed: response.headers.get("idempotent-replayed") === "true" };
  throw unexpectedAnswer("The answer is not a 202 with the id of a request.", response);
}

/** Pauses grow, so this allows about eight attempts. */
export const FAULT_MS = 60_000;
/** This many consecutive batches with 500 mean a fault of the service, not of the batches. */
export const FAULTS_IN_A_ROW_MAX = 5;

/** A 500 may concern this batch alone; 502 to 504 concern the connection. */
export function isFault(error: unknown): error is BellhopError {
  return error instanceof BellhopError && error.status === 500;
}

/** How long a request was retried, and when it first got a 500. */
export interface FaultyRequest {
  readonly patienceMsOf: (error: BellhopError) => number;
  failedAt: number | undefined;
}

/** Distinguishes a batch that always gets 500 from a service that responds 500 to everything. */
export class FaultWatch {
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  accepted(now: number): void {
    this.#acceptedAt = now;
    this.#inARow = 0;
  }

  watched(): FaultyRequest {
    const request: FaultyRequest = {
      failedAt: undefined,
      patienceMsOf: (error) => {
        if (!isFault(error)) return Number.POSITIVE_INFINITY;
        request.failedAt ??= performance.now();
        return this.patienceMs(request.failedAt);
      },
    };
    return request;
  }

  /** Unlimited during a possible outage; short once other batches were accepted or one was given up. */
  patienceMs(failedAt: number): number {
    return this.#isItsOwn(failedAt) || this.#inARow > 0 ? FAULT_MS : Number.POSITIVE_INFINITY;
  }

  giveUp(failedAt: number): boolean {
    if (!this.#isItsOwn(failedAt)) this.#inARow += 1;
    return this.#inARow < FAULTS_IN_A_ROW_MAX;
  }

  #isItsOwn(failedAt: number): boolean {
    return this.#acceptedAt > failedAt;
  }
}
