import { addDays } from "#contract/dates.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { schemaOf } from "../platform/http/openapi/model.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { type BlockNight, type GroupMaster, readGroupBlocks } from "./blocks.ts";
import * as field from "./fields.ts";
import { type Asked, exampleOf, insight } from "./insight.ts";
import { type InventoryNight, type InventoryQuestion, readInventory } from "./inventory.ts";
import { readSettledRooms, type SettledRooms } from "./night-rooms.ts";
import {
  compareCodes,
  type InsightPage,
  isCode,
  isFlag,
  isNight,
  pageOfNights,
  SUMMED_NIGHTS_MAX,
} from "./paging.ts";
import { ROOM_TYPE_PARAMETERS } from "./parameters.ts";
import type { QueryContext } from "./query-context.ts";
import { type NightWindow, pointInTimeOf } from "./question.ts";

const SUM_FIELDS = {
  reported: field.countOrNull("Rooms sold according to inventory; null: it has no record of the night.", 33),
  reportedTransient: field.countOrNull("Transient rooms of these; null: not reported.", 21),
  reportedGroup: field.countOrNull("Group rooms of these; null: not reported.", 12),
  rebuilt: field.count("Rooms of reservations on the books; a shared room counts once.", 32),
  rebuiltTransient: field.count("Rooms of these outside group blocks.", 20),
  rebuiltGroup: field.count("Rooms of these in a group block.", 12),
  difference: field.countOrNull("`reported` minus `rebuilt`: positive if the hotel counts more.", 1),
  unpickedBlocks: field.count("Rooms blocked for groups and not picked up. They are in neither figure.", 8),
  reportedAt: field.orNull(field.sourceTime("Source time of the night's inventory record.")),
  requestId: field.orNull(field.request("The request that contains the inventory record.")),
  index: field.countOrNull("Its index in the batch, from 0.", 13),
};
const ITEM = {
  name: "ReconciliationItem",
  description: "One night, as inventory reports it and as rebuilt from reservations.",
  fields: {
    stayDate: field.stayDate,
    roomType: field.codeOrNull("With `by=roomType`: the room type.", "DLX"),
    ...SUM_FIELDS,
  },
  optional: ["roomType"],
} as const;

/** Reported and rebuilt rooms of a night, of one room type or of all together. */
export type ReconciledNight = field.ItemBy<(typeof ITEM)["fields"], "roomType">;

/** Room types of one night that are listed and whose differences are explained; no hotel has as many. */
export const NIGHT_ROOM_TYPES_MAX = 10_000;

/** An answer's fields about the night itself. */
export const NIGHT_FIELDS = {
  night: field.objectOf("All room types of the night together.", {
    stayDate: field.stayDate,
    ...SUM_FIELDS,
  }),
  roomTypes: field.list(
    "The night by room type, on the first page; empty on others.",
    NIGHT_ROOM_TYPES_MAX,
    schemaOf(ITEM.name) as field.Field<ReconciledNight>,
  ),
};
export const NIGHT_EXAMPLE = {
  night: exampleOf({ ...ITEM, fields: { stayDate: field.stayDate, ...SUM_FIELDS } }),
  roomTypes: [exampleOf(ITEM)],
};

const REPORTED = ["sold", "transient", "grouped"] as const;
const COLUMNS = [...REPORTED, "capacity"] as const;
export type ReportedNight = InventoryNight<(typeof COLUMNS)[number]>;

interface Sum {
  sold: number | null;
  transient: number | null;
  grouped: number | null;
  rebuiltTransient: number;
  rebuiltGroup: number;
  unpickedBlocks: number;
}

const nothing = (): Sum => ({
  sold: null,
  transient: null,
  grouped: null,
  rebuiltTransient: 0,
  rebuiltGroup: 0,
  unpickedBlocks: 0,
});

const plusOrNull = (sum: number | null, more: number | null): number | null =>
  more === null ? sum : (sum ?? 0) + more;

/** One night's reported and rebuilt rooms, by room type. */
export class NightSums {
  readonly night: string;
  readonly report: ReportedNight | undefined;
  readonly #sums = new Map<string | null, Sum>();

  constructor(night: string, report?: ReportedNight) {
    this.night = night;
    this.report = report;
    for (const { unit, counts } of report?.rooms ?? []) this.#sums.set(unit, { ...nothing(), ...counts });
  }

  async add(
    settled: readonly SettledRooms[],
    blocks: readonly BlockNight[],
    pauses: WorkPauses,
  ): Promise<this> {
    for await (const some of pauses.inParts(settled))
      for (const { room_type, block_group, rooms } of some)
        this.#of(room_type)[block_group === null ? "rebuiltTransient" : "rebuiltGroup"] += rooms;
    for await (const some of pauses.inParts(blocks))
      for (const { roomType, unpicked } of some)
        if (unpicked !== 0) this.#of(roomType).unpickedBlocks += unpicked;
    return this;
  }

  #of(roomType: string | null): Sum {
    const known = this.#sums.get(roomType);
    if (known !== undefined) return known;
    const sum = nothing();
    this.#sums.set(roomType, sum);
    return sum;
  }

  /**
   * Reported minus rebuilt rooms of a room type; undefined if the night is not reported. Room types missing from the report have none sold.
   */
  differenceOf(roomType: string | null): number | undefined {
    if (this.report === undefined) return undefined;
    const sum = this.#sums.get(roomType);
    return sum === undefined ? 0 : (sum.sold ?? 0) - sum.rebuiltTransient - sum.rebuiltGroup;
  }

  /** The same of transient and of group rooms; undefined if their count is not reported, or does not add up. */
  partsOf(roomType: string | null): { readonly transient: number; readonly grouped: number } | undefined {
    const sum = this.#sums.get(roomType);
    if (this.report === undefined || sum === undefined) return undefined;
    const { sold, transient, grouped, rebuiltTransient, rebuiltGroup } = sum;
    if (transient === null || grouped === null || transient + grouped !== sold) return undefined;
    return { transient: transient - rebuiltTransient, grouped: grouped - rebuiltGroup };
  }

  /** The room types named by inventory, a reservation or a block; of more than `most`, those of inventory first. */
  async *byRoomType(
    pauses: WorkPauses,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<readonly ReconciledNight[], void> {
    const entries = [...this.#sums.entries().take(most)];
    const sorted = await pauses.sorted(entries, ([one], [other]) => compareCodes(one, other));
    for await (const some of pauses.inParts(sorted))
      yield some.map(([roomType, sum]) => this.#itemOf(sum, { roomType }));
  }

  /** All room types together. */
  total(): ReconciledNight {
    const total = nothing();
    for (const sum of this.#sums.values()) {
      for (const name of REPORTED) total[name] = plusOrNull(total[name], sum[name]);
      total.rebuiltTransient += sum.rebuiltTransient;
      total.rebuiltGroup += sum.rebuiltGroup;
      total.unpickedBlocks += sum.unpickedBlocks;
    }
    return this.#itemOf(total);
  }

  #itemOf(sum: Sum, of?: { readonly roomType: string | null }): ReconciledNight {
    const { report } = this;
    const reported = sum.sold ?? (report === undefined ? null : 0);
    const rebuilt = sum.rebuiltTransient + sum.rebuiltGroup;
    return {
      stayDate: this.night,
      ...of,
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
  }
}

/** Reconciled nights and the blocks used. */
interface Reconciliation {
  /** By night. */
  readonly settled: ReadonlyMap<string, readonly SettledRooms[]>;
  readonly blocks: ReadonlyMap<string, readonly BlockNight[]>;
  readonly masters: ReadonlyMap<string, GroupMaster>;
  /** Each night of the window in turn. */
  readonly nights: AsyncIterable<NightSums>;
}

/** Reconciles a window as of an instant. Throws QuestionTooLarge if it has too many rows. */
export async function reconcile(
  on: Queryable,
  question: InventoryQuestion,
  window: NightWindow,
  queryContext: QueryContext,
): Promise<Reconciliation> {
  const { property } = question;
  const at = pointInTimeOf(question);
  const settled = await readSettledRooms(
    on,
    property,
    window,
    at,
    queryContext.statuses.reservations.deducting,
  );
  const { nights, masters } = await readGroupBlocks(on, property, window, at, queryContext);
  const settledOf = Map.groupBy(settled, ({ night }) => night);
  const blocks = Map.groupBy(nights, ({ night }) => night);
  async function* sums(): AsyncGenerator<NightSums, void, undefined> {
    const inventory = readInventory(on, question, window, COLUMNS, true);
    let next = await inventory.next();
    const pauses = new WorkPauses();
    for (let night = window.first; night <= window.last; night = addDays(night, 1)) {
      const report = next.done !== true && next.value.night === night ? next.value : undefined;
      if (report !== undefined) next = await inventory.next();
      const rooms = new NightSums(night, report);
      yield await rooms.add(settledOf.get(night) ?? [], blocks.get(night) ?? [], pauses);
      // The next day would have a five-digit year.
      if (night === "9999-12-31") return;
    }
  }
  return { settled: settledOf, blocks, masters, nights: sums() };
}

const RECONCILIATION_POSITION: PositionShape = [isNight, isFlag, isCode];

/** A page of reconciled nights, read in windows below the row limit. */
export function pageOfReconciliation({
  client,
  question,
  queryContext,
  start,
  limit,
}: Omit<Asked, "parameters">): Promise<InsightPage<ReconciledNight>> {
  const byRoomType = question.by === "roomType";
  async function* read(window: NightWindow) {
    const pauses = new WorkPauses();
    for await (const night of (await reconcile(client, question, window, queryContext)).nights)
      for await (const items of byRoomType ? night.byRoomType(pauses) : [[night.total()]])
        yield items.filter(
          (item) => item.reported !== null || item.rebuilt !== 0 || item.unpickedBlocks !== 0,
        );
  }
  return pageOfNights(
    {
      client,
      question,
      hasStock: true,
      withBlocks: true,
      daysMax: SUMMED_NIGHTS_MAX,
      read,
      positionOf: ({ stayDate, roomType = null }) => [stayDate, roomType === null ? 1 : 0, roomType ?? ""],
      endOf: (night) => [night, 1, ""],
    },
    start,
    limit,
  );
}

export const reconciliation = insight({
  name: "reconciliation",
  operationId: "getReconciliation",
  summary: "Reconcile inventory with reservations",
  description:
    "By stay date: rooms sold according to inventory, rooms of the reservations on the books, and the difference. Nights without either are not listed.",
  parameters: ROOM_TYPE_PARAMETERS,
  item: ITEM,
  page: { name: "ReconciliationPage", description: "A page of nights." },
  position: RECONCILIATION_POSITION,
  answer: pageOfReconciliation,
});
