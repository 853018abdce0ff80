import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { endOfBusinessDay, type PropertySettings } from "../settings/property-settings.ts";
import {
  codeOrNull,
  count,
  countOrNull,
  day,
  flag,
  type ItemBy,
  orNull,
  stayDate,
  text,
  type ValuesOf,
} from "./fields.ts";
import type { Asked, Insight } from "./insight.ts";
import { readSettledRooms } from "./night-rooms.ts";
import {
  compareCodes,
  type InsightPage,
  isCode,
  isFlag,
  isNight,
  type NightWindow,
  pageOfNights,
  SUMMED_NIGHTS_MAX,
} from "./paging.ts";
import { ROOM_TYPE_PARAMETERS, wordParameter } from "./parameters.ts";
import type { LabelMeanings } from "./query-context.ts";
import {
  addDays,
  type InsightProperty,
  type PointInTime,
  pointInTimeOf,
  ROWS_MAX,
  requireFewRows,
} from "./question.ts";
import { sumEntries } from "./statements.ts";

const readMasters = readStatement(new URL("./sql/read-group-masters.sql", import.meta.url));
const readNights = readStatement(new URL("./sql/read-block-nights.sql", import.meta.url));

/** A group block master by the version that counts. */
export interface GroupMaster {
  readonly group: string;
  readonly name: string | null;
  readonly label: string | null;
  /** Whether the label holds rooms; null: nobody has mapped it. */
  readonly holds: boolean | null;
  /** The last day on which the block is held; null: not told. */
  readonly cutoffDate: string | null;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
}

/** What a group's master says of one night and room type. */
export interface BlockNight {
  readonly night: string;
  readonly group: string;
  readonly label: string | null;
  readonly roomType: string | null;
  readonly blocks: number;
  /** Null: not told. */
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  /** Of what was given back, what was after the cutoff had passed. */
  readonly givenBackAfterCutoff: number;
  /** Whether the group's label holds rooms; null: nobody has mapped it. */
  readonly holds: boolean | null;
  /** Rooms that are held and not picked up, as the master says; 0 where the label holds none. */
  readonly unpicked: number;
}

interface MasterRow {
  readonly block_group: string;
  readonly label: string | null;
  readonly name: string | null;
  readonly cutoff_date: string | null;
  readonly cutoff_days: number | null;
  readonly start_date: string | null;
  readonly source_time: string;
  readonly request_id: string;
  readonly record_index: number;
}

interface NightRow {
  readonly night: string;
  readonly block_group: string;
  readonly label: string | null;
  readonly room_type: string | null;
  readonly blocks: number | null;
  readonly picked_up: number | null;
  readonly original_blocks: number | null;
  readonly given_back: number;
}

/** The cutoff date, else so many days before the first night. */
function cutoffOf({ cutoff_date, cutoff_days, start_date }: MasterRow): string | null {
  if (cutoff_date !== null) return cutoff_date;
  // Days may be anything that is a number; a date has four digits of the year.
  const isDays = cutoff_days !== null && cutoff_days >= 0 && cutoff_days < 10_000;
  return isDays && start_date !== null && start_date >= "1970" ? addDays(start_date, -cutoff_days) : null;
}

/**
 * The masters and the nights of the groups that have blocks in a range of stay dates (`to` included), in order; and the masters
 * of some groups besides.
 */
export async function readGroupBlocks(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
  labels: LabelMeanings,
  settings: PropertySettings,
  groups: readonly string[] = [],
): Promise<{ readonly masters: ReadonlyMap<string, GroupMaster>; readonly nights: readonly BlockNight[] }> {
  const [deducting, off] = [new Set(labels.deducting), new Set(labels.off)];
  const holdsOf = (label: string | null) =>
    deducting.has(label ?? "") ? true : off.has(label ?? "") ? false : null;
  const values = [property.bucket, property.propertyId, range.from, range.to, at.sourceUpTo, at.receivedUpTo];
  const found = await on.query<MasterRow>({ ...readMasters, values: [...values, groups] });
  const masters = new Map(
    found.rows.map((row) => [
      row.block_group,
      {
        group: row.block_group,
        name: row.name,
        label: row.label,
        holds: holdsOf(row.label),
        cutoffDate: cutoffOf(row),
        sourceTime: row.source_time,
        requestId: row.request_id,
        index: row.record_index,
      },
    ]),
  );
  const cutoffs = [...masters.values()].flatMap(({ group, cutoffDate }) =>
    cutoffDate === null ? [] : [{ group, passedAt: endOfBusinessDay(cutoffDate, settings).toISOString() }],
  );
  const nights = await sumEntries<NightRow>(on, readNights, [
    ...values,
    cutoffs.map(({ group }) => group),
    cutoffs.map(({ passedAt }) => passedAt),
    ROWS_MAX + 1,
  ]);
  return {
    masters,
    nights: requireFewRows(nights, range).map((row) => {
      const holds = holdsOf(row.label);
      const blocks = row.blocks ?? 0;
      return {
        night: row.night,
        group: row.block_group,
        label: row.label,
        roomType: row.room_type,
        blocks,
        pickedUp: row.picked_up,
        originalBlocks: row.original_blocks,
        givenBackAfterCutoff: row.given_back,
        holds,
        unpicked: holds === true ? Math.max(0, blocks - (row.picked_up ?? 0)) : 0,
      };
    }),
  };
}

const FIELDS = {
  stayDate,
  group: text("The group's code.", "CONF26"),
  roomType: codeOrNull("With `by=roomType`: the room type.", "DLX"),
  name: codeOrNull("The group's name.", "Sales conference"),
  label: codeOrNull("The label of its status, as sent.", "DEFINITE"),
  holds: orNull(flag("Whether the label holds rooms; null: nobody has mapped it.", true)),
  cutoffDate: orNull(
    day(
      "The cutoff date, or so many days before the start as the master says; null: neither is told.",
      "2026-06-14",
    ),
  ),
  blocks: count("Rooms held.", 20),
  originalBlocks: countOrNull("Rooms first asked for, as the master says.", 25),
  pickedUp: countOrNull("Rooms picked up, as the master says.", 12),
  pickedUpRebuilt: count(
    "Rooms of reservations on the books that name the group; those who share a room are one.",
    12,
  ),
  remaining: count("Held and not picked up, as the master says; 0 where the label holds nothing.", 8),
  wash: countOrNull("Given back: `originalBlocks` less `blocks`; negative where the block grew.", 5),
  washAfterCutoff: count("Of what was given back, what was after the cutoff date.", 2),
};

/** A group's block on a night, of one room type or of all of them together. */
export type BlockItem = ItemBy<typeof FIELDS, "roomType">;

/** What a position of blocks looks like. */
const BLOCKS_POSITION: PositionShape = [isNight, isCode, isFlag, isCode];

const sumOf = (left: number | null, right: number | null): number | null =>
  left === null ? right : left + (right ?? 0);

type Sum = Omit<ValuesOf<typeof FIELDS>, "wash">;

function emptyOf(
  stayDate: string,
  group: string,
  master: GroupMaster | undefined,
  roomType: string | null,
): Sum {
  return {
    stayDate,
    group,
    roomType,
    name: master?.name ?? null,
    label: master?.label ?? null,
    holds: master?.holds ?? null,
    cutoffDate: master?.cutoffDate ?? null,
    blocks: 0,
    originalBlocks: null,
    pickedUp: null,
    pickedUpRebuilt: 0,
    remaining: 0,
    washAfterCutoff: 0,
  };
}

function withNight(sum: Sum, night: BlockNight): Sum {
  return {
    ...sum,
    blocks: sum.blocks + night.blocks,
    originalBlocks: sumOf(sum.originalBlocks, night.originalBlocks),
    pickedUp: sumOf(sum.pickedUp, night.pickedUp),
    remaining: sum.remaining + night.unpicked,
    washAfterCutoff: sum.washAfterCutoff + night.givenBackAfterCutoff,
  };
}

/**
 * Group blocks of a range of nights, in the order of nights, groups and room types. Rooms that reservations picked up of a
 * type that the block has none of stand with the type that they are of; where the types are not asked for, with the group.
 */
async function readBlocks(
  { client, question, queryContext, parameters }: Asked,
  range: { readonly from: string; readonly to: string },
): Promise<BlockItem[]> {
  const { property, by } = question;
  const { labels, settings } = queryContext;
  const holding = parameters.givenText("holding") === "yes";
  const byRoomType = by === "roomType";
  const at = pointInTimeOf(question);
  const rooms = await readSettledRooms(client, property, range, at, labels.reservations.deducting);
  const named = [...new Set(rooms.flatMap(({ block_group }) => block_group ?? []))];
  const { masters, nights } = await readGroupBlocks(
    ...([client, property, range, at, labels.groups, settings, named] as const),
  );
  const sums = new Map<string, Sum>();
  const addTo = (night: string, group: string, roomType: string | null, add: (sum: Sum) => Sum) => {
    const master = masters.get(group);
    // Rooms that name a group of which no master has come are of no block.
    if (master === undefined || (master.holds === true) !== holding) return;
    const type = byRoomType ? roomType : null;
    const key = JSON.stringify([night, group, type]);
    sums.set(key, add(sums.get(key) ?? emptyOf(night, group, master, type)));
  };
  for (const night of nights) addTo(night.night, night.group, night.roomType, (sum) => withNight(sum, night));
  for (const { night, block_group, room_type, rooms: picked } of rooms)
    if (block_group !== null)
      addTo(night, block_group, room_type, (sum) => ({
        ...sum,
        pickedUpRebuilt: sum.pickedUpRebuilt + picked,
      }));
  const ordered = [...sums.values()].sort(
    (one, other) =>
      compareCodes(one.stayDate, other.stayDate) ||
      compareCodes(one.group, other.group) ||
      compareCodes(one.roomType, other.roomType),
  );
  return ordered.map(({ roomType, ...sum }) => ({
    ...sum,
    ...(byRoomType ? { roomType } : {}),
    wash: sum.originalBlocks === null ? null : sum.originalBlocks - sum.blocks,
  }));
}

function answer(asked: Asked): Promise<InsightPage<BlockItem>> {
  const { client, question, start, limit } = asked;
  async function* read({ first, last }: NightWindow) {
    yield* await readBlocks(asked, { from: first, to: last });
  }
  return pageOfNights(
    {
      client,
      question,
      hasStock: false,
      withBlocks: true,
      daysMax: SUMMED_NIGHTS_MAX,
      read,
      positionOf: ({ stayDate, group, roomType = null }) => [
        stayDate,
        group,
        roomType === null ? 1 : 0,
        roomType ?? "",
      ],
      // No group has an empty code.
      endOf: (night) => [addDays(night, 1), "", 0, ""],
    },
    start,
    limit,
  );
}

export const blocks: Insight = {
  name: "blocks",
  operationId: "readBlocks",
  summary: "Group blocks by night",
  description:
    "Rooms held for each group, picked up (as its master says and as reservations name it), remaining and given back, at any instant.",
  parameters: [
    ...ROOM_TYPE_PARAMETERS,
    wordParameter(
      "holding",
      "`yes`: groups whose label holds rooms. `no`: all others, also those whose label nobody has mapped.",
      ["yes", "no"],
      ["yes", "yes"],
    ),
  ],
  item: {
    name: "BlocksItem",
    description: "A group's block on one night.",
    fields: FIELDS,
    optional: ["roomType"],
  },
  page: { name: "BlocksPage", description: "A page of group blocks." },
  position: BLOCKS_POSITION,
  answer,
};
