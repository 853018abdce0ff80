import type pg from "pg";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { type BlockNight, type GroupMaster, readGroupBlocks } from "./blocks.ts";
import { readSettledRooms, type SettledRooms } from "./night-rooms.ts";
import {
  compareCodes,
  type InsightPage,
  isCode,
  isFlag,
  isNight,
  type NightItems,
  pageOfNights,
} from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import {
  addDays,
  type InsightProperty,
  type PointInTime,
  pointInTimeOf,
  ROWS_MAX,
  requireFewRows,
  type StayQuestion,
} from "./question.ts";

const readReported = readStatement(new URL("./sql/read-reported-rooms.sql", import.meta.url));

/** What an inventory record says of one room type on a night, and where the record lies. Null: not told. */
export interface ReportedRooms {
  readonly night: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly source_time: string;
  readonly room_type: string;
  readonly capacity: number | null;
  readonly out_of_order: number | null;
  readonly sold: number | null;
  readonly transient: number | null;
  readonly grouped: number | null;
}

/** What inventory reports of a range of nights (`to` included), by room type, virtual ones aside; in the order of nights. */
async function readReportedRooms(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
): Promise<ReportedRooms[]> {
  const { rows } = await on.query<ReportedRooms>({
    ...readReported,
    values: [
      property.bucket,
      property.propertyId,
      range.from,
      range.to,
      at.sourceUpTo,
      at.receivedUpTo,
      ROWS_MAX + 1,
    ],
  });
  return requireFewRows(rows, range);
}

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
interface ReconciliationSources {
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

const plusOrNull = (sum: number | null, more: number | null): number | null =>
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
    sum.sold = plusOrNull(sum.sold, row.sold);
    sum.transient = plusOrNull(sum.transient, row.transient);
    sum.grouped = plusOrNull(sum.grouped, row.grouped);
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

/** What a position of reconciled nights looks like. */
export const RECONCILIATION_POSITION: PositionShape = [isNight, isFlag, isCode];

/** Of a night that is not reported either, and of which nothing is on the books. */
const isNothing = ({ reported, rebuilt, unpickedBlocks }: ReconciledNight): boolean =>
  reported === null && rebuilt === 0 && unpickedBlocks === 0;

/** A page of nights, what inventory reports against what reservations come to, in the order of nights and room types. */
export function reconciliation(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<ReconciledNight>> {
  const { property, from, to, by } = question;
  const nights: NightItems<ReconciledNight> = {
    client,
    property,
    from,
    to,
    isGrouped: by === "roomType",
    read: async ({ first, last }) => {
      const at = pointInTimeOf(question);
      const sources = await readSources(client, property, { from: first, to: last }, at, queryContext);
      return reconcile(sources, by === "roomType").filter((night) => !isNothing(night));
    },
    positionOf: ({ stayDate, roomType = null }) => [stayDate, roomType === null ? 1 : 0, roomType ?? ""],
    beginOf: (night) => [night, 0, ""],
  };
  return pageOfNights(nights, start, limit);
}
