import type { Queryable } from "../platform/db/transaction.ts";
import { compareCodes } from "./books-position.ts";
import { type BlockNight, type GroupMaster, readGroupBlocks } from "./group-blocks.ts";
import type { InsightProperty, PointInTime } from "./point-in-time.ts";
import type { QueryContext } from "./query-context.ts";
import { type ReportedRooms, readReportedRooms } from "./reported-rooms.ts";
import { readSettledRooms, type SettledRooms } from "./settled-rooms.ts";
import { addDays } from "./stay-date.ts";

/** What inventory reports of a night and what reservations come to, of one room type or of all together. Rooms. */
export interface ReconciledNight {
  readonly stayDate: string;
  /** Only where it is asked by room type. */
  readonly roomType?: string | null;
  /** Rooms sold as inventory says; null: it has no record of the night. */
  readonly reported: number | null;
  readonly reportedTransient: number | null;
  readonly reportedGroup: number | null;
  /** Rooms of reservations on the books, shares settled; of those, the ones of no group and of a group. */
  readonly rebuilt: number;
  readonly rebuiltTransient: number;
  readonly rebuiltGroup: number;
  /** Reported less rebuilt; null where nothing is reported. */
  readonly difference: number | null;
  /** Rooms held for groups and not picked up: apart from what is rebuilt. */
  readonly unpickedBlocks: number;
  /** Where the report of the night lies. */
  readonly reportedAt: string | null;
  readonly requestId: string | null;
  readonly index: number | null;
}

/** What a reconciliation is made of. `to` is included. */
export interface ReconciliationSources {
  readonly from: string;
  readonly to: string;
  readonly reported: readonly ReportedRooms[];
  readonly settled: readonly SettledRooms[];
  readonly blocks: readonly BlockNight[];
  readonly masters: ReadonlyMap<string, GroupMaster>;
}

/** Reads what a range of nights is reconciled from, as of an instant. */
export async function readSources(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
  { labels, settings }: Pick<QueryContext, "labels" | "settings">,
): Promise<ReconciliationSources> {
  const reported = await readReportedRooms(on, property, range, at);
  const settled = await readSettledRooms(on, property, range, at, labels.reservations.deducting);
  const { nights, masters } = await readGroupBlocks(on, property, range, at, labels.groups, settings);
  return { ...range, reported, settled, blocks: nights, masters };
}

interface Sum {
  readonly roomType: string | null;
  sold: number | null;
  transient: number | null;
  grouped: number | null;
  rebuiltTransient: number;
  rebuiltGroup: number;
  unpickedBlocks: number;
}

const plus = (sum: number | null, more: number | null): number | null =>
  more === null ? sum : (sum ?? 0) + more;

class NightSums {
  readonly #sums = new Map<string | null, Sum>();
  readonly #byRoomType: boolean;
  report: ReportedRooms | undefined;

  constructor(byRoomType: boolean) {
    this.#byRoomType = byRoomType;
  }

  of(roomType: string | null): Sum {
    const cell = this.#byRoomType ? roomType : null;
    let sum = this.#sums.get(cell);
    if (sum === undefined) {
      sum = {
        roomType: cell,
        sold: null,
        transient: null,
        grouped: null,
        rebuiltTransient: 0,
        rebuiltGroup: 0,
        unpickedBlocks: 0,
      };
      this.#sums.set(cell, sum);
    }
    return sum;
  }

  items(stayDate: string): ReconciledNight[] {
    if (!this.#byRoomType) this.of(null);
    const { report } = this;
    const sums = [...this.#sums.values()].sort((one, other) => compareCodes(one.roomType, other.roomType));
    return sums.map((sum) => {
      // A night that is reported has none sold of a room type that it does not name.
      const reported = sum.sold ?? (report === undefined ? null : 0);
      const rebuilt = sum.rebuiltTransient + sum.rebuiltGroup;
      return {
        stayDate,
        ...(this.#byRoomType ? { roomType: sum.roomType } : {}),
        reported,
        reportedTransient: sum.transient,
        reportedGroup: sum.grouped,
        rebuilt,
        rebuiltTransient: sum.rebuiltTransient,
        rebuiltGroup: sum.rebuiltGroup,
        difference: reported === null ? null : reported - rebuilt,
        unpickedBlocks: sum.unpickedBlocks,
        reportedAt: report?.source_time ?? null,
        requestId: report?.request_id ?? null,
        index: report?.record_index ?? null,
      };
    });
  }
}

/**
 * The nights of the sources one by one: each of them where they are asked together, and of each room type that inventory,
 * a reservation or a block names otherwise.
 */
export function reconcile(sources: ReconciliationSources, byRoomType: boolean): ReconciledNight[] {
  const nights = new Map<string, NightSums>();
  for (let night = sources.from; night <= sources.to; night = addDays(night, 1)) {
    nights.set(night, new NightSums(byRoomType));
    // The day after it has five digits of the year.
    if (night === "9999-12-31") break;
  }
  for (const row of sources.reported) {
    const sums = nights.get(row.night);
    if (sums === undefined) continue;
    sums.report = row;
    const sum = sums.of(row.room_type);
    sum.sold = plus(sum.sold, row.sold);
    sum.transient = plus(sum.transient, row.transient);
    sum.grouped = plus(sum.grouped, row.grouped);
  }
  for (const { night, room_type, block_group, rooms } of sources.settled) {
    const sum = nights.get(night)?.of(room_type);
    if (sum === undefined) continue;
    if (block_group === null) sum.rebuiltTransient += rooms;
    else sum.rebuiltGroup += rooms;
  }
  for (const { night, roomType, unpicked } of sources.blocks) {
    const sum = unpicked === 0 ? undefined : nights.get(night)?.of(roomType);
    if (sum !== undefined) sum.unpickedBlocks += unpicked;
  }
  return [...nights].flatMap(([stayDate, sums]) => sums.items(stayDate));
}
