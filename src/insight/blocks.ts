import type pg from "pg";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { compareCodes, isCode, isFlag, isNight } from "./books-position.ts";
import { type BlockNight, type GroupMaster, readGroupBlocks } from "./group-blocks.ts";
import { type NightWindow, NightWindows, WINDOWS_MAX } from "./night-windows.ts";
import type { InsightPage } from "./on-the-books.ts";
import { type InsightProperty, pointInTimeOf } from "./point-in-time.ts";
import type { QueryContext } from "./query-context.ts";
import { QuestionTooLarge, type StayQuestion } from "./question.ts";
import { readSettledRooms } from "./settled-rooms.ts";
import { addDays } from "./stay-date.ts";

/** What is paged: items of nights, in the order of their positions, of which the first part is the night. */
export interface NightItems<Item> {
  readonly client: Queryable;
  readonly property: InsightProperty;
  readonly from: string;
  readonly to: string;
  /** Whether a night has more than one item as a rule. */
  readonly isGrouped: boolean;
  /** Throws QuestionTooLarge where that is too much for one window. */
  read(window: NightWindow): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** A position before every item of a night and after those of the nights before. */
  beginOf(night: string): Position;
}

/** Nights of a window: what each is made of (a thousand room types, say) all comes to this thread. */
const NIGHTS_MAX = 100;

async function readWindow<Item>(
  nights: NightItems<Item>,
  windows: NightWindows,
  window: NightWindow,
): Promise<readonly Item[] | undefined> {
  try {
    return await nights.read(window);
  } catch (error) {
    if (!(error instanceof QuestionTooLarge)) throw error;
    windows.shorten(window);
    return undefined;
  }
}

function comparePositions(one: Position, other: Position): number {
  for (const [at, part] of one.entries()) {
    const against = other[at];
    const order =
      typeof part === "string" && typeof against === "string"
        ? compareCodes(part, against)
        : Number(part) - Number(against);
    if (order !== 0) return order;
  }
  return 0;
}

/** At most `limit` items after a position, window by window. A page ends early where it has looked at very many nights without any. */
export async function pageOfNights<Item>(
  nights: NightItems<Item>,
  start: Position | null,
  limit: number,
): Promise<InsightPage<Item>> {
  const { from, to, isGrouped } = nights;
  const begun = start === null ? from : String(start[0]);
  const first = begun < from ? from : begun;
  if (first > to) return { items: [], next: null };
  const items: Item[] = [];
  const windows = new NightWindows(first, to, isGrouped, limit + 1, NIGHTS_MAX);
  let passed: NightWindow | undefined;
  for (let count = 0; count < WINDOWS_MAX && items.length <= limit; count += 1) {
    const window = await windows.nextOfFew(nights.client, nights.property, true);
    if (window === undefined) break;
    const wanted = limit + 1 - items.length;
    const read = await readWindow(nights, windows, window);
    if (read === undefined) continue;
    const found = read.filter(
      (item) => start === null || comparePositions(nights.positionOf(item), start) > 0,
    );
    items.push(...found.slice(0, wanted));
    windows.passed(window, found.length, wanted);
    passed = window;
  }
  if (items.length > limit) {
    const page = items.slice(0, limit);
    return { items: page, next: nights.positionOf(page.at(-1) as Item) };
  }
  const isEnd = passed === undefined || windows.next() === undefined;
  return { items, next: isEnd ? null : nights.beginOf(addDays(passed?.last ?? to, 1)) };
}

/** A group's block on a night, of one room type or of all of them together. Rooms; null where nothing is told. */
export interface BlockItem {
  readonly stayDate: string;
  readonly group: string;
  /** Only where it is asked by room type. */
  readonly roomType?: string | null;
  readonly name: string | null;
  readonly label: string | null;
  /** Null: nobody has mapped the label. */
  readonly holds: boolean | null;
  readonly cutoffDate: string | null;
  /** Held as of now, and at first. */
  readonly blocks: number;
  readonly originalBlocks: number | null;
  /** As the master says, and as counted from the reservations that name the group. */
  readonly pickedUp: number | null;
  readonly pickedUpRebuilt: number;
  /** Held and not picked up; 0 where the label holds nothing. */
  readonly remaining: number;
  /** Given back: original less current; negative where the block grew. Null where no original is told. */
  readonly wash: number | null;
  /** Of what was given back, what was after the cutoff date. */
  readonly washAfterCutoff: number;
}

/** What is asked, by room type or not. */
export interface BlocksQuestion extends StayQuestion {
  /** Groups whose label holds rooms, or all others. */
  readonly holding: boolean;
}

/** What a position of blocks looks like. */
export const BLOCKS_POSITION: PositionShape = [isNight, isCode, isFlag, isCode];

const sumOf = (left: number | null, right: number | null): number | null =>
  left === null ? right : left + (right ?? 0);

interface Sum extends Omit<BlockItem, "wash" | "roomType"> {
  readonly roomType: string | null;
}

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
  client: pg.ClientBase,
  { property, by, holding, ...question }: BlocksQuestion,
  { labels, settings }: QueryContext,
  range: { readonly from: string; readonly to: string },
): Promise<BlockItem[]> {
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

/** A page of group blocks, in the order of nights, groups and room types. */
export function blocks(
  client: pg.ClientBase,
  question: BlocksQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<BlockItem>> {
  const nights: NightItems<BlockItem> = {
    client,
    property: question.property,
    from: question.from,
    to: question.to,
    isGrouped: true,
    read: ({ first, last }) => readBlocks(client, question, queryContext, { from: first, to: last }),
    positionOf: ({ stayDate, group, roomType = null }) => [
      stayDate,
      group,
      roomType === null ? 1 : 0,
      roomType ?? "",
    ],
    // No group has an empty code.
    beginOf: (night) => [night, "", 0, ""],
  };
  return pageOfNights(nights, start, limit);
}
