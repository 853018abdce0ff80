import { microsecondsOf } from "../../src/ingest/log/part-name.ts";
import type { TestClient, TestService } from "../support/service.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import { until } from "../support/until.ts";
import type { LifeStep } from "./booking-life.ts";
import type { IsKnown } from "./expected-books.ts";
import type { FeedBatch } from "./feed.ts";
import { PROPERTIES } from "./reservation-records.ts";

/** Requests on their way at once. */
const IN_FLIGHT = 4;
const APPLIED_MS_MAX = 300_000;

/** A client that may push and ask everything of both hotels. */
export function feedClient(service: TestService): Promise<TestClient> {
  return service.newClient({
    scopes: ["inventories:write", "reservations:write", "groups:write", "read", "insight:read"],
    grants: Object.values(PROPERTIES),
  });
}

/** Pushes batches of the feed, and remembers when the service received what. */
export class FeedPush {
  readonly #service: TestService;
  readonly #client: TestClient;
  /** By reservation id and instant of the step. */
  readonly #receiptOf = new Map<string, number>();
  /** When each batch was received, in microseconds since 1970. */
  readonly receipts: number[] = [];
  records = 0;

  constructor(service: TestService, client: TestClient) {
    this.#service = service;
    this.#client = client;
  }

  /** Pushes batches in their order, a few at once, and waits until all of them are applied. */
  async push(batches: readonly FeedBatch[]): Promise<void> {
    const left = batches.values();
    const pushOn = async (): Promise<void> => {
      for (const batch of left) await this.#pushOne(batch);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, pushOn));
    this.receipts.sort((one, other) => one - other);
    await until(async () => (await unappliedParts(this.#service)) === 0, APPLIED_MS_MAX);
  }

  /** What had been received by an instant of the service's clock, included. */
  knownAt(microseconds: number): IsKnown {
    return (reservationId: string, step: LifeStep) => {
      const receipt = this.#receiptOf.get(`${reservationId} ${step.atMs}`);
      return receipt !== undefined && receipt <= microseconds;
    };
  }

  async #pushOne({ resource, records }: FeedBatch): Promise<void> {
    const body = `[${records.map(({ json }) => json).join(",")}]`;
    const answer = await this.#service.post(resource, body, { as: this.#client });
    if (answer.status !== 202) throw new Error(`Answered ${answer.status}: ${answer.text.slice(0, 300)}`);
    const receipt = microsecondsOf(String(answer.json()["requestId"]));
    this.receipts.push(receipt);
    this.records += records.length;
    if (resource !== "reservations") return;
    for (const { key, atMs } of records) this.#receiptOf.set(`${key} ${atMs}`, receipt);
  }
}
