import { recordCountOf } from "../ingest/log/body-layout.ts";
import { SILENCE_SECONDS_MAX } from "../platform/db/presence.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Ownership } from "./ownership.ts";
import type { SharingSession, Shift, Shifts } from "./sharing.ts";

/**
 * A part of so many records, or stored bytes, takes an applier some tenths of a second; one of 10,000 a second. All of its
 * other buckets would wait for it (docs/decisions/0017). A hotel's two years of inventory, 730 records, are not long: shifting
 * a bucket for each cost a nightly push a fifth of its rate.
 */
const LONG_RECORDS = 2_000;
const LONG_STORED_BYTES = 1_048_576;

/** Whether a part takes long to be applied, or belongs to a backfill, for which nobody else is to wait at all. */
function isLongPart({ layout, body, isBackfill }: LogPart): boolean {
  if (layout === null || body === null) return false;
  if (isBackfill === true) return true;
  return recordCountOf(layout) >= LONG_RECORDS || body.length >= LONG_STORED_BYTES;
}

/** What is next, less the parts that are long and what comes after one in its bucket. `long`: buckets whose next part is. */
export function withoutLong(
  parts: readonly LogPart[],
  isLong: (part: LogPart) => boolean,
): { readonly near: readonly LogPart[]; readonly long: readonly number[] } {
  const begun = new Set<number>();
  const cut = new Set<number>();
  const long: number[] = [];
  const near = parts.filter((part) => {
    const { bucket } = part;
    if (!cut.has(bucket) && isLong(part)) {
      cut.add(bucket);
      if (!begun.has(bucket)) long.push(bucket);
    }
    begun.add(bucket);
    return !cut.has(bucket);
  });
  return { near, long };
}

/** Who is told that there is something to shift. */
interface Looker {
  lookNow(): void;
}

/**
 * The long way: a second applier of the same thread, with a session of its own, to which the first gives a bucket whose
 * next part is long, and from which it comes back when what is next is not. A bucket changes hands as between any two
 * appliers, by its lease and the next epoch; so whatever fails in between, it is free, and found by whoever looks.
 */
export class LongWay {
  readonly isLong: (part: LogPart) => boolean;
  readonly #first: () => Looker;
  readonly #second: () => Looker;
  #offered: Lease[] = [];

  /** `first` and `second` are asked for when there is something for them. */
  constructor(first: () => Looker, second: () => Looker, isLong: (part: LogPart) => boolean = isLongPart) {
    this.#first = first;
    this.#second = second;
    this.isLong = isLong;
  }

  get hasOffers(): boolean {
    return this.#offered.length > 0;
  }

  /** Leases that the first applier has given up, with the epoch at which they are free. */
  offer(leases: readonly Lease[]): void {
    this.#offered.push(...leases);
    this.#second().lookNow();
  }

  takeOffers(): readonly Lease[] {
    return this.#offered.splice(0);
  }

  /** The second applier has given buckets up: the first lacks them, and finds them free. */
  giveBack(): void {
    this.#first().lookNow();
  }
}

/** How the second applier comes by its buckets and gives them back; it takes no part in sharing. */
export class LongShifts implements Shifts {
  readonly #way: LongWay;
  readonly #session: SharingSession;
  readonly #ownership: Ownership;
  readonly #done = new Set<number>();

  constructor(way: LongWay, session: SharingSession, ownership: Ownership) {
    this.#way = way;
    this.#session = session;
    this.#ownership = ownership;
  }

  get isDue(): boolean {
    return this.#done.size > 0 || this.#way.hasOffers;
  }

  /** Where nothing is next, or something that is not long, the bucket goes back; others may only be further behind. */
  saw(buckets: readonly number[], parts: readonly LogPart[]): void {
    const next = new Map<number, LogPart>();
    for (const part of parts) if (!next.has(part.bucket)) next.set(part.bucket, part);
    for (const bucket of buckets) {
      const part = next.get(bucket);
      if (part === undefined ? parts.length === 0 : !this.#way.isLong(part)) this.#done.add(bucket);
      else this.#done.delete(bucket);
    }
  }

  async shift(): Promise<Shift> {
    const held = new Set(this.#ownership.buckets);
    const givenUp = [...this.#done].filter((bucket) => held.has(bucket));
    this.#done.clear();
    await this.#ownership.giveUp(givenUp);
    if (givenUp.length > 0) this.#way.giveBack();
    const taken = await this.#ownership.take(this.#way.takeOffers());
    if (taken.length + givenUp.length === 0 && held.size > 0) {
      // Whoever holds something and says nothing is taken for hung, and a replay ends all leases.
      const { held: known } = await this.#session.lookAround(SILENCE_SECONDS_MAX);
      this.#ownership.keep(known);
    }
    return { taken, givenUp, ended: [] };
  }
}
