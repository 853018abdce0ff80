import { addDays } from "#contract/dates.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { word } from "../platform/http/parameters.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { Property } from "../query/property.ts";
import { minutesAfterMidnight } from "../settings/business-day.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import * as field from "./fields.ts";
import { mastersOf } from "./group-hierarchy.ts";
import { type Asked, insight } from "./insight.ts";
import { readSettledRooms } from "./night-rooms.ts";
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
import { type NightWindow, type PointInTime, pointInTimeOf, ROWS_MAX, requireFewRows } from "./question.ts";
import { sumEntries } from "./statements.ts";

const readMasters = readStatement(new URL("./sql/read-group-masters.sql", import.meta.url));
const readReported = readStatement(new URL("./sql/read-reported-blocks.sql", import.meta.url));
const readNights = readStatement(new URL("./sql/read-block-nights.sql", import.meta.url));

/** A group block master in its valid version. */
export interface GroupMaster {
  readonly group: string;
  readonly name: string | null;
  readonly status: string | null;
  /** Whether the status holds rooms; null if it is unmapped. */
  readonly holds: boolean | null;
  /** The group that it names as its master; null if none. */
  readonly masterGroup: string | null;
  /** The last day on which the block is held; null if not reported. */
  readonly cutoffDate: string | null;
  readonly requestId: string;
  readonly index: number;
}

/** A group master's block of one night and room type. */
export interface BlockNight {
  readonly night: string;
  readonly group: string;
  readonly status: string | null;
  readonly roomType: string | null;
  readonly blocks: number;
  /** Null: not reported. */
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  /** Rooms released after the cutoff, in any status. */
  readonly releasedAfterCutoff: number;
  /** Whether the group's status holds rooms; null if it is unmapped. */
  readonly holds: boolean | null;
  /** Rooms held, not picked up according to the master, and not of its subgroups; 0 if the status holds none. */
  readonly unpicked: number;
  /** Rooms that its subgroups hold, which are part of its own; 0 if the property's blocks add up. */
  readonly subgroupBlocks: number;
}

type SentNight = Omit<BlockNight, "holds" | "unpicked" | "subgroupBlocks">;

interface MasterRow extends Omit<GroupMaster, "holds"> {
  readonly cutoffDays: number | null;
  readonly startDate: string | null;
}

/** The cutoff date; otherwise `cutoffDays` before the first night. */
function cutoffOf({ cutoffDate, cutoffDays, startDate }: MasterRow): string | null {
  if (cutoffDate !== null) return cutoffDate;
  // cutoffDays may be any number; the result must have a four-digit year.
  const isDays = cutoffDays !== null && cutoffDays >= 0 && cutoffDays < 10_000;
  return isDays && startDate !== null && startDate >= "1970" ? addDays(startDate, -cutoffDays) : null;
}

/** Masters and nights of the groups with blocks in a window, in order, plus the masters of the given groups. */
export async function readGroupBlocks(
  on: Queryable,
  property: Property,
  { first, last }: NightWindow,
  at: PointInTime,
  { statuses, settings }: Pick<QueryContext, "statuses" | "settings">,
  groups: readonly string[] = [],
): Promise<{ readonly masters: ReadonlyMap<string, GroupMaster>; readonly nights: readonly BlockNight[] }> {
  const values = [property.bucket, property.propertyId, first, last, at.sourceUpTo, at.receivedUpTo];
  const holdsOf = ({ status }: Pick<GroupMaster, "status">) => statuses.deducts("groups", status);
  const found = await on.query<MasterRow>({ ...readMasters, values: [...values, groups] });
  const masters = new Map<string, GroupMaster>();
  for await (const some of new WorkPauses().inParts(found.rows))
    for (const row of some)
      masters.set(row.group, { ...row, holds: holdsOf(row), cutoffDate: cutoffOf(row) });
  const withCutoff = [...masters.values()].filter(({ cutoffDate }) => cutoffDate !== null);
  const rows = await sumEntries<SentNight>(on, readNights, [
    ...values,
    withCutoff.map(({ group }) => group),
    withCutoff.map(({ cutoffDate }) => cutoffDate),
    settings.timeZone,
    minutesAfterMidnight(settings),
    ROWS_MAX + 1,
  ]);
  const known = await asReported(on, property, at, requireFewRows(rows, { first, last }));
  return { masters, nights: await withUnpicked(known, holdsOf, await hierarchyOf(masters, settings)) };
}

/**
 * The rows with 0 where the valid master reports 0. Without blocks, entries do not tell a number that is 0 from one that an earlier version
 * alone did not report.
 */
async function asReported(
  on: Queryable,
  { bucket, propertyId }: Property,
  at: PointInTime,
  rows: readonly SentNight[],
): Promise<readonly SentNight[]> {
  const open = rows.filter(
    ({ blocks, pickedUp, originalBlocks }) =>
      blocks === 0 && (pickedUp === null) !== (originalBlocks === null),
  );
  if (open.length === 0) return rows;
  const values = [
    bucket,
    propertyId,
    open.map(({ night }) => night),
    open.map(({ group }) => group),
    open.map(({ roomType }) => roomType),
    at.sourceUpTo,
    at.receivedUpTo,
  ];
  const found = await on.query<{ at: number; pickup: boolean; originalBlocks: boolean }>({
    ...readReported,
    values,
  });
  const reported = new Map(found.rows.map((row) => [open[row.at - 1], row]));
  return rows.map((row) => {
    const known = reported.get(row);
    if (known === undefined) return row;
    return {
      ...row,
      pickedUp: row.pickedUp ?? (known.pickup ? 0 : null),
      originalBlocks: row.originalBlocks ?? (known.originalBlocks ? 0 : null),
    };
  });
}

async function hierarchyOf(
  masters: ReadonlyMap<string, GroupMaster>,
  { groupHierarchy }: Pick<PropertySettings, "groupHierarchy">,
): Promise<ReadonlyMap<string, string>> {
  if (groupHierarchy === "separate") return new Map();
  return await mastersOf(
    [...masters.values()].map(({ group, masterGroup }) => ({ subgroup: group, master: masterGroup })),
  );
}

/** Adds what is held and not picked up: the blocks of subgroups are carved out of those of their master in the same room type. */
async function withUnpicked(
  nights: readonly SentNight[],
  holdsOf: (night: SentNight) => boolean | null,
  hierarchy: ReadonlyMap<string, string>,
): Promise<BlockNight[]> {
  const pauses = new WorkPauses();
  const carved = new Map<string, { blocks: number; pickedUp: number }>();
  const placeOf = (group: string, { night, roomType }: Pick<BlockNight, "night" | "roomType">) =>
    JSON.stringify([group, night, roomType]);
  for await (const some of pauses.inParts(hierarchy.size === 0 ? [] : nights))
    for (const one of some) {
      const master = hierarchy.get(one.group);
      if (master === undefined || holdsOf(one) !== true) continue;
      const place = placeOf(master, one);
      const sum = carved.get(place) ?? { blocks: 0, pickedUp: 0 };
      sum.blocks += one.blocks;
      sum.pickedUp += one.pickedUp ?? 0;
      carved.set(place, sum);
    }
  const whole = { blocks: 0, pickedUp: 0 };
  const held: BlockNight[] = [];
  for await (const some of pauses.inParts(nights))
    for (const one of some) {
      const holds = holdsOf(one);
      const { blocks, pickedUp } = carved.size === 0 ? whole : (carved.get(placeOf(one.group, one)) ?? whole);
      const own = Math.max(0, one.blocks - blocks) - Math.max(0, (one.pickedUp ?? 0) - pickedUp);
      const unpicked = holds === true ? Math.max(0, own) : 0;
      held.push({ ...one, holds, unpicked, subgroupBlocks: blocks });
    }
  return held;
}

const FIELDS = {
  stayDate: field.stayDate,
  group: field.text("The group's code.", "CONF26"),
  roomType: field.codeOrNull("With `by=roomType`: the room type.", "DLX"),
  name: field.codeOrNull("The group's name.", "Sales conference"),
  label: field.codeOrNull("Its status, as sent.", "DEFINITE"),
  holds: field.orNull(field.flag("Whether the status holds rooms; null: it is unmapped.", true)),
  cutoffDate: field.orNull(
    field.day(
      "The cutoff date, or the start date minus the master's cutoff days; null: the master has neither.",
      "2026-06-14",
    ),
  ),
  blocks: field.count("Rooms held.", 20),
  subgroupBlocks: field.count(
    "Rooms held by the group's subgroups, which are part of its own. Above 0 where both hold rooms: then add up `remaining`, not `blocks`. 0 if the setting `groupHierarchy` is `separate`.",
    6,
  ),
  originalBlocks: field.countOrNull("Rooms originally blocked, according to the group master.", 25),
  pickedUp: field.countOrNull("Rooms picked up, according to the group master.", 12),
  pickedUpRebuilt: field.count(
    "Rooms of reservations on the books that name the group; a shared room counts once.",
    12,
  ),
  remaining: field.count(
    "Rooms blocked and not picked up, according to the group master, without those of its subgroups; 0 if the status holds no rooms.",
    8,
  ),
  wash: field.countOrNull(
    "Rooms released: `originalBlocks` minus `blocks` of the room types that have the former; negative if the block grew.",
    5,
  ),
  washAfterCutoff: field.count("Rooms released after the cutoff date.", 2),
};

/** A group's block on a night, for one room type or in total. */
export type BlockItem = field.ItemBy<typeof FIELDS, "roomType">;

const BLOCKS_POSITION: PositionShape = [isNight, isCode, isFlag, isCode];

type Sum = { -readonly [Name in keyof typeof FIELDS]: field.ValuesOf<typeof FIELDS>[Name] };

const sumOf = (left: number | null, right: number | null): number | null =>
  left === null ? right : left + (right ?? 0);

const PARAMETERS = {
  ...ROOM_TYPE_PARAMETERS,
  holding: word(
    "`yes`: groups whose status holds rooms. `no`: all others, including groups with an unmapped status.",
    ["yes", "no"],
    "yes",
    "yes",
  ),
};

/**
 * Group blocks of a range, ordered by night, group and room type. Rooms picked up in a room type without a block are listed under that room
 * type, or under the group if room types are not requested.
 */
async function* readBlocks(
  { client, question, queryContext, parameters }: Asked<typeof PARAMETERS>,
  window: NightWindow,
): AsyncGenerator<readonly BlockItem[], void, undefined> {
  const { property, by } = question;
  const holding = parameters.holding === "yes";
  const byRoomType = by === "roomType";
  const at = pointInTimeOf(question);
  const rooms = await readSettledRooms(
    client,
    property,
    window,
    at,
    queryContext.statuses.reservations.deducting,
  );
  const named = [...new Set(rooms.flatMap(({ block_group }) => block_group ?? []))];
  const { masters, nights } = await readGroupBlocks(client, property, window, at, queryContext, named);
  const sums = new Map<string, Sum>();
  /** Undefined if the group has no master, so the rooms belong to no block, or is not requested. */
  const sumAt = (stayDate: string, group: string, type: string | null): Sum | undefined => {
    const master = masters.get(group);
    if (master === undefined || (master.holds === true) !== holding) return undefined;
    const roomType = byRoomType ? type : null;
    const key = JSON.stringify([stayDate, group, roomType]);
    const { name, status, holds, cutoffDate } = master;
    const known = sums.get(key) ?? {
      stayDate,
      group,
      roomType,
      name,
      label: status,
      holds,
      cutoffDate,
      blocks: 0,
      subgroupBlocks: 0,
      originalBlocks: null,
      pickedUp: null,
      pickedUpRebuilt: 0,
      remaining: 0,
      wash: null,
      washAfterCutoff: 0,
    };
    sums.set(key, known);
    return known;
  };
  // A night may have 200,000.
  const pauses = new WorkPauses();
  for await (const some of pauses.inParts(nights))
    for (const night of some) {
      const sum = sumAt(night.night, night.group, night.roomType);
      if (sum === undefined) continue;
      sum.blocks += night.blocks;
      sum.subgroupBlocks += night.subgroupBlocks;
      sum.originalBlocks = sumOf(sum.originalBlocks, night.originalBlocks);
      sum.pickedUp = sumOf(sum.pickedUp, night.pickedUp);
      sum.remaining += night.unpicked;
      if (night.originalBlocks !== null) sum.wash = (sum.wash ?? 0) + night.originalBlocks - night.blocks;
      sum.washAfterCutoff += night.releasedAfterCutoff;
    }
  for await (const some of pauses.inParts(rooms))
    for (const { night, block_group, room_type, rooms: picked } of some) {
      const sum = block_group === null ? undefined : sumAt(night, block_group, room_type);
      if (sum !== undefined) sum.pickedUpRebuilt += picked;
    }
  const ordered = await pauses.sorted(
    [...sums.values()],
    (one, other) =>
      compareCodes(one.stayDate, other.stayDate) ||
      compareCodes(one.group, other.group) ||
      compareCodes(one.roomType, other.roomType),
  );
  for await (const some of pauses.inParts(ordered))
    yield some.map(({ roomType, ...sum }) => ({ ...sum, ...(byRoomType ? { roomType } : {}) }));
}

function answer(asked: Asked<typeof PARAMETERS>): Promise<InsightPage<BlockItem>> {
  const { client, question, start, limit } = asked;
  return pageOfNights(
    {
      client,
      question,
      hasStock: false,
      withBlocks: true,
      daysMax: SUMMED_NIGHTS_MAX,
      read: (window) => readBlocks(asked, window),
      positionOf: ({ stayDate, group, roomType = null }) => [
        stayDate,
        group,
        roomType === null ? 1 : 0,
        roomType ?? "",
      ],
      // Group codes are not empty.
      endOf: (night) => [addDays(night, 1), "", 0, ""],
    },
    start,
    limit,
  );
}

export const blocks = insight({
  name: "blocks",
  operationId: "getBlocks",
  summary: "Get group blocks by stay date",
  description:
    "The block of each group as of any instant: rooms blocked, picked up (according to the group master and to reservations), remaining and released.",
  parameters: PARAMETERS,
  item: {
    name: "BlocksItem",
    description: "A group's block on one night.",
    fields: FIELDS,
    optional: ["roomType"],
  },
  page: { name: "BlocksPage", description: "A page of group blocks." },
  position: BLOCKS_POSITION,
  answer,
});
