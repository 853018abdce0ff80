import type { WorkPauses } from "../platform/runtime/work-pauses.ts";

/**
 * Ranks the possible causes of a night's differences by description length: a cause costs its kind's prior and the choice among its rivals,
 * and saves what it explains of the nights around. So a cause that fits a whole run of nights comes before one of many that fit one night.
 */

/** How many more rooms the hotel counts of one room type, by night of the window, if a cause is the right one. */
export interface Effect<Cause extends RankedCause = RankedCause> {
  readonly cause: Cause;
  readonly roomType: string | null;
  readonly rooms: readonly number[];
  /** Whether they are rooms of groups; null: either. */
  readonly isGroup: boolean | null;
}

/** What the ranking needs of a cause. */
export interface RankedCause {
  readonly kind: string;
  /** Evidence within one record that the count is wrong; listed first. */
  readonly isProof: boolean;
  /** Causes of one night and name are alike, and the more there are, the less likely is each. By default its kind. */
  readonly alike?: string;
  /** The lower, the more often a difference has such a cause, in bits. */
  readonly prior: number;
  /** Source time of the newest record; of equals, the newest is listed first. */
  readonly changedAt: string;
}

/** Reported minus rebuilt rooms of a room type by night of the window; NaN: not reported. */
export interface Differences {
  readonly all: readonly number[];
  /** Of transient and of group rooms; null if the hotel's parts follow other rules than the reservations. */
  readonly parts: { readonly transient: readonly number[]; readonly grouped: readonly number[] } | null;
}

/** A difference that no record explains: rooms of the asked night, and the nights in a row with as many. */
export interface Unexplained {
  readonly roomType: string | null;
  readonly rooms: number;
  readonly nights: number;
}

export interface RankedEffect<Cause extends RankedCause> {
  readonly effect: Effect<Cause>;
  readonly nights: number;
  readonly nightsExplained: number;
}

export interface RankedRoomType<Cause extends RankedCause> {
  /** Effects that explain the difference together, at most three, the likeliest first. */
  readonly leading: readonly RankedEffect<Cause>[];
  /** All others that fit the difference, the likeliest first; `fit` counts their nights. */
  readonly others: readonly { readonly effect: Effect<Cause>; readonly fit: () => RankedEffect<Cause> }[];
  /** What the leading ones leave; undefined if nothing. */
  readonly unexplained: Unexplained | undefined;
  /** Whether a reservation that was never received is likelier than a wrong count. */
  readonly isMissing: boolean;
}

/** Bits that explaining one room of one night saves. */
const SAVED = 3;
/** Bits of nights on which the total fits but neither the transient nor the group rooms do. */
const WRONG_PART = 2;
const WRONG_PARTS_MAX = 3;
/** Bits of what no record shows: a reservation never received (and twice per doubling of its rooms), and a wrong number. */
const MISSING = 9.5;
const WRONG = 11;
/** Effects of one room type among which combinations are searched; of these, how many go against the difference. */
const COMBINED = 24;
const COMBINED_AGAINST = 8;
const TOGETHER_MAX = 3;

const explains = (difference: number, rooms: number): boolean =>
  rooms > 0 ? difference >= rooms : difference <= rooms;

/** Weight of room nights by which a cause raises a difference: a night that contradicts it says more than one that fits. */
const AGAINST = 2;

/** Room nights by which rooms reduce the differences, less those by which they raise them. */
function gainOf(differences: readonly number[], rooms: ArrayLike<number>): number {
  let gain = 0;
  for (let night = 0; night < differences.length; night += 1) {
    const [difference, own] = [differences[night] as number, rooms[night] as number];
    if (own === 0 || Number.isNaN(difference)) continue;
    const less = Math.abs(difference) - Math.abs(difference - own);
    gain += less < 0 ? AGAINST * less : less;
  }
  return gain;
}

/** Nights on which the total fits an effect, but the part that it belongs to does not. */
function wrongPartsOf({ rooms, isGroup }: Effect, { all, parts }: Differences): number {
  if (parts === null || isGroup === null) return 0;
  const part = isGroup ? parts.grouped : parts.transient;
  let wrong = 0;
  for (let night = 0; night < all.length; night += 1) {
    const own = rooms[night] as number;
    const of = part[night] as number;
    if (own !== 0 && explains(all[night] as number, own) && !Number.isNaN(of) && !explains(of, own))
      wrong += 1;
  }
  return Math.min(wrong, WRONG_PARTS_MAX);
}

interface Scored<Cause extends RankedCause> {
  readonly effect: Effect<Cause>;
  /** What it costs, without what it saves of this room type. */
  readonly price: number;
  /** Alone. */
  readonly cost: number;
}

/** What a ranking knows of all effects of the night. */
export interface Rivalry<Cause extends RankedCause> {
  /** Room nights explained by the cause's effects on other room types. */
  elsewhere(effect: Effect<Cause>): number;
  /** Causes that are alike, with this one. */
  countOf(cause: Cause): number;
}

async function score<Cause extends RankedCause>(
  effects: readonly Effect<Cause>[],
  differences: Differences,
  { elsewhere, countOf }: Rivalry<Cause>,
  pauses: WorkPauses,
): Promise<Scored<Cause>[]> {
  const scored: Scored<Cause>[] = [];
  for (const effect of effects) {
    const parts = WRONG_PART * wrongPartsOf(effect, differences);
    const rivals = Math.log2(countOf(effect.cause));
    const price = effect.cause.prior + rivals + parts - SAVED * elsewhere(effect);
    scored.push({ effect, price, cost: price - SAVED * gainOf(differences.all, effect.rooms) });
    if (pauses.isDue) await pauses.pause();
  }
  return scored;
}

/** An effect with the reported nights that it covers, and how many of them it fits. */
function fitOf<Cause extends RankedCause>(
  { effect }: Scored<Cause>,
  { all }: Differences,
): RankedEffect<Cause> {
  let [nights, nightsExplained] = [0, 0];
  for (const [night, difference] of all.entries()) {
    const own = effect.rooms[night] as number;
    if (own === 0 || Number.isNaN(difference)) continue;
    nights += 1;
    if (explains(difference, own)) nightsExplained += 1;
  }
  return { effect, nights, nightsExplained };
}

/** What remains of the asked night, from the first to the last of the nights around on which as much is left. */
function leftOf(differences: readonly number[], at: number, explained: ArrayLike<number>) {
  const rooms = (differences[at] as number) - (explained[at] as number);
  let [first, last] = [at, at];
  const isLeft = (night: number) =>
    explains((differences[night] as number) - (explained[night] as number), rooms);
  if (rooms !== 0) {
    while (first > 0 && isLeft(first - 1)) first -= 1;
    while (last < differences.length - 1 && isLeft(last + 1)) last += 1;
  }
  const nights = last - first + 1;
  const missing =
    rooms > 0 ? MISSING + 2 * Math.log2(rooms) - SAVED * rooms * nights : Number.POSITIVE_INFINITY;
  const wrong = WRONG - SAVED * Math.abs(rooms);
  return { rooms, nights, isMissing: missing <= wrong, cost: rooms === 0 ? 0 : Math.min(missing, wrong) };
}

function compare<Cause extends RankedCause>(one: Scored<Cause>, other: Scored<Cause>): number {
  const [left, right] = [one.effect.cause, other.effect.cause];
  return (
    Number(right.isProof) - Number(left.isProof) ||
    one.cost - other.cost ||
    (left.changedAt < right.changedAt ? 1 : left.changedAt > right.changedAt ? -1 : 0)
  );
}

/** The cheapest combination of at most three effects of a bounded number. */
class Combinations<Cause extends RankedCause> {
  readonly #pool: readonly Scored<Cause>[];
  readonly #differences: readonly number[];
  readonly #at: number;
  /** No combination saves more. */
  readonly #savedMax: number;
  readonly #sums: readonly number[][];
  readonly #chosen: Scored<Cause>[] = [];
  #best: readonly Scored<Cause>[] = [];
  #bestCost: number;

  constructor(pool: readonly Scored<Cause>[], differences: readonly number[], at: number) {
    this.#pool = pool;
    this.#differences = differences;
    this.#at = at;
    this.#savedMax =
      SAVED * differences.reduce((sum, one) => sum + (Number.isNaN(one) ? 0 : Math.abs(one)), 0);
    this.#sums = Array.from({ length: TOGETHER_MAX + 1 }, () =>
      new Array<number>(differences.length).fill(0),
    );
    this.#bestCost = leftOf(differences, at, this.#sums[0] as number[]).cost;
  }

  cheapest(): readonly Scored<Cause>[] {
    this.#search(0, 0);
    return this.#best;
  }

  #search(from: number, price: number): void {
    const depth = this.#chosen.length;
    const [sum, together] = [this.#sums[depth] as number[], this.#sums[depth + 1] as number[]];
    for (let next = from; next < this.#pool.length; next += 1) {
      const one = this.#pool[next] as Scored<Cause>;
      const paid = price + one.price;
      if (paid - this.#savedMax >= this.#bestCost) continue;
      // Two effects of one cause exclude each other.
      if (this.#chosen.some(({ effect }) => effect.cause === one.effect.cause)) continue;
      const { rooms } = one.effect;
      for (let night = 0; night < together.length; night += 1)
        together[night] = (sum[night] as number) + (rooms[night] as number);
      this.#chosen.push(one);
      const left = leftOf(this.#differences, this.#at, together).cost;
      const cost = paid - SAVED * gainOf(this.#differences, together) + left;
      if (cost < this.#bestCost - 1e-9) {
        this.#bestCost = cost;
        this.#best = [...this.#chosen];
      }
      if (depth + 1 < TOGETHER_MAX) this.#search(next + 1, paid);
      this.#chosen.pop();
    }
  }
}

/** Ranks the effects on one room type. Without `combines`, no combinations are searched. */
export async function rankRoomType<Cause extends RankedCause>(
  roomType: string | null,
  effects: readonly Effect<Cause>[],
  differences: Differences,
  at: number,
  rivalry: Rivalry<Cause>,
  combines: boolean,
  pauses: WorkPauses,
): Promise<RankedRoomType<Cause>> {
  const difference = differences.all[at] as number;
  const fits = ({ effect }: Scored<Cause>) => explains(difference, effect.rooms[at] as number);
  const scored = (await score(effects, differences, rivalry, pauses)).sort(compare);
  const fitting = scored.filter(fits);
  const against = scored.filter((one) => !fits(one)).slice(0, COMBINED_AGAINST);
  const pool = combines ? [...fitting.slice(0, COMBINED - against.length), ...against] : fitting.slice(0, 1);
  const leading = [...new Combinations(pool, differences.all, at).cheapest()].sort(compare);
  const sum = new Array<number>(differences.all.length).fill(0);
  for (const { effect } of leading)
    for (const [night, rooms] of effect.rooms.entries()) sum[night] = (sum[night] as number) + rooms;
  const { rooms, nights, isMissing } = leftOf(differences.all, at, sum);
  const chosen = new Set(leading);
  return {
    leading: leading.map((one) => fitOf(one, differences)),
    others: fitting
      .filter((one) => !chosen.has(one))
      .map((one) => ({ effect: one.effect, fit: () => fitOf(one, differences) })),
    unexplained: rooms === 0 ? undefined : { roomType, rooms, nights },
    isMissing,
  };
}

const nameOf = ({ alike, kind }: RankedCause) => alike ?? kind;

/** What a cause gains on all room types, and on each. */
interface Gains {
  all: number;
  readonly own: Map<string | null, number>;
}

/** Compares all effects of a night. Those of one cause follow each other. */
export async function rivalryOf<Cause extends RankedCause>(
  effects: readonly Effect<Cause>[],
  differencesOf: (roomType: string | null) => Differences,
  pauses: WorkPauses,
): Promise<Rivalry<Cause>> {
  const several = new Map<Cause, Gains>();
  const counts = new Map<string, number>();
  let last: Effect<Cause> | undefined;
  const add = ({ cause, roomType, rooms }: Effect<Cause>) => {
    const gains = several.get(cause) ?? { all: 0, own: new Map() };
    const gain = gainOf(differencesOf(roomType).all, rooms);
    gains.all += gain;
    gains.own.set(roomType, (gains.own.get(roomType) ?? 0) + gain);
    several.set(cause, gains);
  };
  for (const effect of effects) {
    const { cause } = effect;
    if (last?.cause !== cause) counts.set(nameOf(cause), (counts.get(nameOf(cause)) ?? 0) + 1);
    else {
      if (!several.has(cause)) add(last);
      add(effect);
    }
    last = effect;
    if (pauses.isDue) await pauses.pause();
  }
  return {
    elsewhere: ({ cause, roomType }) => {
      const gains = several.get(cause);
      return gains === undefined ? 0 : gains.all - (gains.own.get(roomType) ?? 0);
    },
    countOf: (cause) => counts.get(nameOf(cause)) ?? 1,
  };
}
