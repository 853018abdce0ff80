import { dayOfText } from "../contract/day-number.ts";
import { GROUP_BLOCKS_MAX } from "../contract/insight-bounds.ts";
import { type BlockRun, boundedCount, type DimensionCodes } from "./night-run.ts";
import { elementsOf, fieldsOfRow } from "./read-facts.ts";

/** Where each column stands in a `bellhop.group_facts` (migration 0005). */
const COLUMN = {
  ...{ segment: 9, rateCode: 10, date: 11, roomType: 12, blocks: 13, pickup: 14, originalBlocks: 15 },
  currency: 18,
} as const;

const countOf = (text: string | null | undefined): number | null =>
  text == null ? null : boundedCount(Number(text));

type Night = Omit<BlockRun, "nights">;

/** Whether a night goes on with a run. */
function goesOn(run: BlockRun, night: Night): boolean {
  return (
    run.codes === night.codes &&
    run.firstNight + run.nights === night.firstNight &&
    run.blocks === night.blocks &&
    run.pickedUp === night.pickedUp &&
    run.originalBlocks === night.originalBlocks
  );
}

/**
 * The nights of a group block master as its facts, its label and its code tell them, in runs that are alike: of one room type
 * and currency. A night that is named twice counts twice. Blocks are of the group that the master names. A master of more than insight
 * counts has none (`contract/insight-bounds.ts`).
 */
export function groupNights(facts: string, status: string | null, groupCode: string): BlockRun[] {
  const fields = fieldsOfRow(facts);
  const column = (name: keyof typeof COLUMN) => elementsOf(fields[COLUMN[name]]);
  const dates = column("date");
  if (dates.length > GROUP_BLOCKS_MAX) return [];
  const types = { roomType: column("roomType"), currency: column("currency") };
  const counts = {
    ...{ blocks: column("blocks"), pickup: column("pickup"), originalBlocks: column("originalBlocks") },
  };
  const kinds = new Map<string, { readonly codes: DimensionCodes; readonly nights: Night[] }>();
  dates.forEach((date, at) => {
    const [roomTypeCode, currencyCode] = [types.roomType[at] ?? null, types.currency[at] ?? null];
    const kind = JSON.stringify([roomTypeCode, currencyCode]);
    let known = kinds.get(kind);
    if (known === undefined) {
      const codes = {
        ...{ status, roomTypeCode, bookedRoomTypeCode: null },
        ...{ marketSegmentCode: fields[COLUMN.segment] ?? null, groupBlockCode: groupCode },
        ...{ rateCode: fields[COLUMN.rateCode] ?? null, channel: null, currencyCode },
      };
      known = { codes, nights: [] };
      kinds.set(kind, known);
    }
    known.nights.push({
      firstNight: dayOfText(date as string),
      blocks: countOf(counts.blocks[at]),
      pickedUp: countOf(counts.pickup[at]),
      originalBlocks: countOf(counts.originalBlocks[at]),
      codes: known.codes,
    });
  });
  const runs: BlockRun[] = [];
  for (const { nights } of kinds.values()) {
    nights.sort((left, right) => left.firstNight - right.firstNight);
    let last: BlockRun | undefined;
    for (const night of nights) {
      if (last !== undefined && goesOn(last, night)) {
        last = { ...last, nights: last.nights + 1 };
        runs[runs.length - 1] = last;
      } else {
        last = { ...night, nights: 1 };
        runs.push(last);
      }
    }
  }
  return runs;
}
