import type { Acceptance } from "../../src/ingest/log/accept-log.ts";
import { isDataError } from "../../src/platform/db/database-errors.ts";
import { ServiceError } from "../../src/platform/errors/registry.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import type { Attempt, Batch } from "./batch.ts";
import type { SimulatedDatabase } from "./database.ts";
import type { Host } from "./node.ts";

const LATENCY_MS = 0.2;
/** Most nodes are ready by then. */
const FIRST_AT_MS = 50;
/** Then a client gives up waiting and, where it has a key, sends again. */
const CLIENT_TIMEOUT_MS = 30_000;
/** Clients wait longer from time to time. */
const RETRY_MS_MAX = 10_000;

/**
 * Clients: each batch is sent at its moment, to any node. One with an Idempotency-Key is sent again until it has its
 * answer, sometimes to two nodes at once and sometimes once more after it; one without is sent once.
 */
export class Senders {
  /** Batches whose clients will not be content before they have an answer. */
  pending = 0;
  readonly #database: SimulatedDatabase;
  readonly #hosts: readonly Host[];
  readonly #random: SeededRandom;

  constructor(database: SimulatedDatabase, hosts: readonly Host[], random: SeededRandom) {
    this.#database = database;
    this.#hosts = hosts;
    this.#random = random;
  }

  start(): void {
    const { batches, busyMs } = this.#database.conditions;
    let last: Batch | undefined;
    let at = FIRST_AT_MS;
    for (let number = 0; number < batches; number += 1) {
      const batch = this.#newBatch(number, last);
      last = batch;
      this.pending += 1;
      // Some arrive together, so that they share a flush.
      if (this.#random.chance(0.6)) at = FIRST_AT_MS + this.#random.between(0, busyMs * 1_000) / 1_000;
      const host = this.#random.pick(this.#hosts);
      this.#database.scheduler.after(at, () => this.#send(batch, host));
      if (batch.idempotency !== null && this.#random.chance(0.15)) {
        this.pending += 1;
        this.#database.scheduler.after(at, () => this.#send(batch, this.#random.pick(this.#hosts)));
      }
    }
  }

  #newBatch(number: number, last: Batch | undefined): Batch {
    const random = this.#random;
    const { properties } = this.#database.conditions;
    const draw = random.between(0, 99);
    const kind = draw < 4 ? "poison" : draw < 12 ? "resolution" : "batch";
    const isKeyed = kind === "batch" && random.chance(0.6);
    // Now and then a client uses a key of another batch.
    const isStolen = isKeyed && last?.idempotency && random.chance(0.1);
    const key = isStolen ? (last.idempotency?.key ?? "") : `k${number}`;
    const first = random.between(0, properties.length - 1);
    const second = random.between(0, properties.length - 1);
    const named = kind === "batch" && random.chance(0.25) && first !== second ? [first, second] : [first];
    return {
      number,
      properties: properties.filter((_, at) => named.includes(at)),
      recordCount: kind === "resolution" ? 1 : random.pick([1, 1, 300, 1_200]),
      kind,
      idempotency: isKeyed ? { key, fingerprint: `f${number}` } : null,
      storedAs: undefined,
      answeredAs: undefined,
      sent: 0,
    };
  }

  #send(batch: Batch, host: Host): void {
    const { scheduler, checker, trace } = this.#database;
    const attempt: Attempt = { batch, answeredBefore: host.answeredUpTo, storedAs: undefined };
    const number = checker.attempts.push(attempt) - 1;
    trace.add("client", `sends to ${host.name} batch`, batch.number);
    let isOver = false;
    const over = (call: () => void) => {
      if (isOver) return;
      isOver = true;
      timeout.call = undefined;
      call();
    };
    const lost = () => over(() => this.#retry(batch));
    const timeout = scheduler.after(CLIENT_TIMEOUT_MS, lost);
    const request = {
      done: (acceptance: Pick<Acceptance, "requestId" | "repeated">) => {
        // Answered is what the node has said, whether or not it is heard.
        if (acceptance.requestId > host.answeredUpTo) host.answeredUpTo = acceptance.requestId;
        scheduler.after(LATENCY_MS, () => over(() => this.#answered(attempt, acceptance)));
      },
      failed: (error: unknown) => {
        scheduler.after(LATENCY_MS, () => over(() => this.#refused(batch, error)));
      },
    };
    scheduler.after(LATENCY_MS, () => {
      const { node } = host;
      if (node === undefined || node.isDead) return request.failed(new Error("connect ECONNREFUSED"));
      node.deliver(() => node.receive(batch, number, request));
    });
  }

  #answered(attempt: Attempt, { requestId, repeated }: Pick<Acceptance, "requestId" | "repeated">): void {
    const { checker, trace } = this.#database;
    trace.add("client", `has 202 ${requestId}${repeated ? " again" : ""} for batch`, attempt.batch.number);
    checker.answered(this.#database, attempt, requestId, repeated);
    if (attempt.batch.idempotency !== null && this.#random.chance(0.1)) {
      this.#sendAgain(attempt.batch);
      return;
    }
    this.pending -= 1;
  }

  #refused(batch: Batch, error: unknown): void {
    const { checker, trace } = this.#database;
    const code = error instanceof ServiceError ? error.code : String(error);
    trace.add("client", `is refused (${code}) batch`, batch.number);
    if (code === "bellhop.accept.IdempotencyKeyReused") {
      checker.answeredHeld(this.#database, batch);
      this.pending -= 1;
    } else if (isDataError(error)) {
      if (batch.kind !== "poison")
        checker.fail(`batch ${batch.number} was refused as if its data were bad (${code})`);
      this.pending -= 1;
    } else this.#retry(batch);
  }

  #retry(batch: Batch): void {
    if (batch.idempotency === null) this.pending -= 1;
    else this.#sendAgain(batch);
  }

  #sendAgain(batch: Batch): void {
    const host = this.#random.pick(this.#hosts);
    batch.sent += 1;
    const delayMs = this.#random.between(1, Math.min(RETRY_MS_MAX, 20 * 2 ** batch.sent));
    this.#database.scheduler.after(delayMs, () => this.#send(batch, host));
  }
}
