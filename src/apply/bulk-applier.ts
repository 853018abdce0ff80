import { SILENCE_SECONDS_MAX } from "../platform/db/coordination.ts";
import { Applier, type ApplierOptions, classifyPart } from "./applier.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Leases } from "./leases.ts";
import type { OpenApplySession } from "./pipeline.ts";
import type { ClusterSession, Rebalanced, Rebalancer } from "./rebalance.ts";

export interface ThreadAppliersOptions extends ApplierOptions {
  /** Opens the session of the bulk applier, which takes no share of the buckets. */
  readonly openBulkSession: OpenApplySession;
}

/**
 * The appliers of one thread: a live one with its share of the buckets and, after the first bulk part, a bulk one with its own
 * session. The lease of a bucket moves to the bulk applier while the bucket's next part is bulk.
 */
export class ThreadAppliers {
  readonly #live: Applier;
  readonly #bulk: Applier;
  readonly #offers: Lease[] = [];
  #hasBulkBegun = false;

  constructor({ openBulkSession, ...options }: ThreadAppliersOptions) {
    this.#live = new Applier({ ...options, handOverBulk: (leases) => this.#handOver(leases) });
    // The bulk applier passes no buckets on.
    const { siblings: _siblings, ...alone } = options;
    const { owns: _, ...events } = options.events;
    const { classify = classifyPart } = options;
    const isBulk = (part: LogPart) => classify(part).isBulk;
    const returned = () => this.#live.rebalanceNow();
    this.#bulk = new Applier({
      ...alone,
      openSession: openBulkSession,
      owner: `${options.owner}/long`,
      events,
      rebalancer: (session, leases) =>
        new BulkBuckets(session, leases, { offers: this.#offers, isBulk, returned }),
    });
  }

  start(): void {
    this.#live.start();
  }

  /** Whether the live applier has a session. */
  get ready(): boolean {
    return this.#live.ready;
  }

  wake(buckets: Iterable<number>): void {
    this.#live.wake(buckets);
  }

  offered(): void {
    this.#live.offered();
  }

  /** Waits for the running transactions, then closes both sessions. */
  async stop(): Promise<void> {
    await Promise.all([this.#live.stop(), this.#bulk.stop()]);
  }

  #handOver(leases: readonly Lease[]): void {
    this.#offers.push(...leases);
    if (!this.#hasBulkBegun) this.#bulk.start();
    this.#hasBulkBegun = true;
    this.#bulk.rebalanceNow();
  }
}

interface HandOver {
  /** Leases that the live applier has given up, each with its current epoch. */
  readonly offers: Lease[];
  readonly isBulk: (part: LogPart) => boolean;
  /** Called after buckets were released for the live applier. */
  readonly returned: () => void;
}

/** Takes only the buckets offered to the bulk applier, and releases them when their next part is not bulk. */
class BulkBuckets implements Rebalancer {
  readonly #session: ClusterSession;
  readonly #leases: Leases;
  readonly #handOver: HandOver;
  readonly #done = new Set<number>();

  constructor(session: ClusterSession, leases: Leases, handOver: HandOver) {
    this.#session = session;
    this.#leases = leases;
    this.#handOver = handOver;
  }

  get isDue(): boolean {
    return this.#done.size > 0 || this.#handOver.offers.length > 0;
  }

  /** Releases buckets with no next part or one that is not bulk. A bucket missing from a non-empty read may have parts beyond it. */
  onBacklogRead(buckets: readonly number[], parts: readonly LogPart[]): void {
    const next = new Map<number, LogPart>();
    for (const part of parts) if (!next.has(part.bucket)) next.set(part.bucket, part);
    for (const bucket of buckets) {
      const part = next.get(bucket);
      if (part === undefined ? parts.length === 0 : !this.#handOver.isBulk(part)) this.#done.add(bucket);
      else this.#done.delete(bucket);
    }
  }

  async rebalance(): Promise<Rebalanced> {
    const held = new Set(this.#leases.buckets);
    const givenUp = [...this.#done].filter((bucket) => held.has(bucket));
    this.#done.clear();
    await this.#leases.giveUp(givenUp);
    if (givenUp.length > 0) this.#handOver.returned();
    const taken = await this.#leases.take(this.#handOver.offers.splice(0));
    if (taken.length + givenUp.length === 0 && held.size > 0) {
      // Keeps the session active, or others would terminate it as unresponsive, and notices leases that a replay ended.
      const view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
      this.#leases.keep(view.held);
    }
    return { taken, givenUp, ended: [] };
  }
}
