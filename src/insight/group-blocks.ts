import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { endOfBusinessDay } from "../settings/business-day.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import type { LabelMeanings } from "./label-meanings.ts";
import type { InsightProperty, PointInTime } from "./point-in-time.ts";
import { ROWS_MAX, requireFewRows } from "./question.ts";
import { addDays } from "./stay-date.ts";
import { sumEntries } from "./sum-entries.ts";

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
