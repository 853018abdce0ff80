import { SILENCE_SECONDS_MAX } from "../platform/db/coordination.ts";
import { Applier, type ApplierOptions, weighPart } from "./applier.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Leases } from "./leases.ts";
import type { OpenApplySession } from "./pipeline.ts";
import type { ClusterSession, Rebalanced, Rebalancer } from "./rebalance.ts";

export interface ThreadAppliersOptions extends ApplierOptions {
  /** Opens the session of the bulk applier, which is not counted among those that share the buckets. */
  readonly openBulkSession: OpenApplySession;
}

/**
 * The appliers of one thread: a live one with its share of the cluster's buckets and, after the first bulk
 * part, a bulk one with its own session. A bucket whose next part is bulk moves there by its lease, as
 * between any two appliers, and back when its next part is not.
 */
export class ThreadAppliers {
  readonly #live: Applier;
  readonly #bulk: Applier;
  readonly #offers: Lease[] = [];
  #hasBulkBegun = false;

  constructor({ openBulkSession, ...options }: ThreadAppliersOptions) {
    this.#live = new Applier({ ...options, handOverBulk: (leases) => this.#handOver(leases) });
    // Its buckets are for it alone.
    const { siblings: _siblings, ...alone } = options;
    const { owns: _, ...events } = options.events;
    const { weigh = weighPart } = options;
    const isBulk = (part: LogPart) => weigh(part).isBulk;
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

  /** Whether it has a session to apply on. */
  get ready(): boolean {
    return this.#live.ready;
  }

  wake(buckets: Iterable<number>): void {
    this.#live.wake(buckets);
  }

  offered(): void {
    this.#live.offered();
  }

  /** Lets the running transactions end, then releases everything. */
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
  /** Leases that the live applier has given up, with the epoch at which they are free. */
  readonly offers: Lease[];
  readonly isBulk: (part: LogPart) => boolean;
  /** Called after buckets were released, so that the live applier can take them. */
  readonly returned: () => void;
}

/** Takes the buckets that are offered to the bulk applier and gives them back; its share of the others is none. */
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

  /** Where nothing is next, or something that is not bulk, the bucket goes back; others may only be further behind. */
  saw(buckets: readonly number[], parts: readonly LogPart[]): void {
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
      // A holder that says nothing counts as unresponsive, and a replay ends all leases.
      const view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
      this.#leases.keep(view.held);
    }
    return { taken, givenUp, ended: [] };
  }
}
