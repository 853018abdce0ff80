import { readJson, unexpectedAnswer } from "./answer.ts";
import { type Batch, batchOf, byCodes, codesOf, type Item, idempotencyKeyOf, pack } from "./batch.ts";
import { apiPath, type Connection } from "./connection.ts";
import { BellhopError, type RecordViolation } from "./error.ts";
import { FAULTS_IN_A_ROW_MAX, FaultWatch, type FaultyRequest, isFault } from "./fault-watch.ts";
import type { SendSettings } from "./options.ts";
import type { RefusedRecord, Tally } from "./report.ts";
import type { Resource } from "./resource.ts";
import type { RetryNotice } from "./retry.ts";

/** A batch of which the service has said 202. */
export interface Accepted {
  readonly requestId: string;
  readonly batch: Batch;
}

const ANSWER_BYTES_MAX = 65_536;
const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Pairs of codes that a client may not send, remembered so that each is tried once. */
const FORBIDDEN_PAIRS_MAX = 10_000;

/** Refusals of a batch that smaller batches may not meet. */
const DIVISIBLE = new Set([
  "bellhop.contract.InvalidRecords",
  "bellhop.contract.MalformedJson",
  "bellhop.contract.TooManyRecords",
  "bellhop.http.PayloadTooLarge",
  "http.413",
]);
/** Refusals because of the property that a record names. */
const OF_PROPERTY = new Set(["oauth.insufficient_scope", "http.403", "bellhop.accept.TooManyNewProperties"]);

/**
 * Brings batches of one `send` to the service. A refused batch is taken apart until each of its records is in an accepted one, or
 * is refused by itself with its reason: those that violations name are set aside, codes that are not the client's are told
 * from those that are, and what is too large is halved. One that is answered 500 whatever happens keeps no other from being sent.
 */
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

  /** Rejects when nothing can go on; the records that were not settled by then are noted as unconfirmed. */
  async *deliver(batch: Batch, signal: AbortSignal): AsyncGenerator<Accepted, void, undefined> {
    const parts = [batch];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const allowed = this.#withoutForbidden(part);
      if (allowed.count === 0) continue;
      const watched = this.#faults.watched();
      try {
        const requestId = await this.#post(allowed, signal, watched);
        yield { requestId, batch: allowed };
      } catch (error) {
        if (isFault(error)) {
          this.#giveUp(allowed, error);
          if (this.#faults.giveUp(watched.failedAt ?? performance.now())) continue;
          this.#leave(parts, error);
          throw inARow(error);
        }
        const rest = error instanceof BellhopError ? this.#takeApart(allowed, error) : undefined;
        if (rest === undefined) {
          this.#leave([allowed, ...parts], error);
          throw error;
        }
        parts.push(...rest.map(batchOf).reverse());
      }
    }
  }

  /** What is to be said in the end of batches that were given up; undefined where there are none. */
  failure(): BellhopError | undefined {
    const { batches, records } = this.#givenUp;
    if (this.#lastFault === undefined) return undefined;
    const what = batches === 1 ? "a batch" : `${batches} batches`;
    return ofFault(
      `${records} records in ${what} were not delivered: the service answered 500 again and again.`,
      this.#lastFault,
    );
  }

  /** A record that cannot be written as JSON never leaves. */
  refuseUnwritable(index: number, record: unknown, message: string): void {
    this.#tell({ index, record, code: "client.NotJson", message, violations: [] });
  }

  async #post(batch: Batch, signal: AbortSignal, { patienceMsOf }: FaultyRequest): Promise<string> {
    const { lenient, journal, correlationId, headers = {}, onAccepted } = this.#settings;
    const path = apiPath(this.#resource);
    const plain = batch.body();
    const key = idempotencyKeyOf([path, lenient ? "lenient" : "strict", headers], plain);
    let requestId = journal?.find(key);
    if (requestId === undefined) {
      const packed = await pack(plain, this.#connection.settings.compression);
      requestId = await this.#connection.ask(
        {
          method: "POST",
          path,
          body: packed.body,
          headers: {
            ...headers,
            "content-type": "application/json",
            "idempotency-key": key,
            ...packed.headers,
            ...(lenient ? { prefer: "handling=lenient" } : {}),
            ...(correlationId === undefined ? {} : { "x-correlation-id": correlationId }),
          },
          signal,
          onRetry: (notice) => this.#waiting(notice),
          patienceMsOf,
        },
        readRequestId,
      );
      this.#faults.accepted(performance.now());
      this.#tally.waiting = undefined;
      await journal?.note(key, requestId);
    }
    this.#tally.accept(batch.count, requestId);
    if (onAccepted !== undefined)
      onAccepted({ requestId, idempotencyKey: key, indexes: batch.items().map(({ index }) => index) });
    return requestId;
  }

  #waiting({ error, delayMs }: RetryNotice): void {
    this.#tally.retries += 1;
    this.#tally.waiting = { reason: error.message, ms: delayMs };
    this.#settings.onProgress?.(this.#tally.progress());
  }

  /** What of a refused batch is worth sending again, and in which parts; undefined when nothing is, of this or any other batch. */
  #takeApart(batch: Batch, error: BellhopError): (readonly Item<unknown>[])[] | undefined {
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

  #divideByCodes(items: readonly Item<unknown>[], error: BellhopError): (readonly Item<unknown>[])[] {
    const groups = byCodes(items);
    const [[codes] = [""]] = groups;
    if (groups.size > 1) return [...groups.values()];
    if (this.#forbidden.size < FORBIDDEN_PAIRS_MAX) this.#forbidden.set(codes, error);
    for (const item of items) this.#refuse(item, error, []);
    return [];
  }

  /** Records of pairs that were refused before in this `send` are not tried again: each try is an entry in the operator's audit. */
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

  #refuse({ index, record }: Item<unknown>, error: BellhopError, found: readonly RecordViolation[]): void {
    const violations = found.map((violation) => ({ ...violation, index, record }));
    const [first] = violations;
    const code = first?.code ?? error.exception;
    this.#tell({ index, record, code, message: first?.message ?? error.message, violations });
  }

  #tell(refusal: Omit<RefusedRecord, "outcome" | "requestId">): void {
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

async function readRequestId(response: Response): Promise<string> {
  const answer = await readJson<{ readonly requestId?: unknown }>(response, ANSWER_BYTES_MAX);
  const { requestId } = answer ?? {};
  if (response.status === 202 && typeof requestId === "string" && REQUEST_ID.test(requestId))
    return requestId;
  throw unexpectedAnswer("The answer is not a 202 with the id of a request.", response);
}
