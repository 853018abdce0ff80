import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { RESOURCE_LETTERS, VERSION_TABLES } from "../apply/state/record.ts";
import { noteWrites, placeByBucket, query, stopNoting } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { WindowedTable } from "../platform/db/time-windows.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { type ExpiringWindow, writeHorizons } from "./expiring-window.ts";
import {
  atGate,
  checkRoomFor,
  countRows,
  type Expired,
  expireWindow,
  type RetentionSessions,
} from "./replace-window.ts";

/** If more versions are added to a window while it is copied, it is left for the next run. */
const LATE_MAX = 5_000;
const TRIGGER = "note_late_version";
const estimateRows = namedStatement(
  "estimate-rows",
  "select pg_stat_get_live_tuples($1::regclass)::float8 as count",
);

/** The resource of a table of versions. */
export function resourceOfVersions({ table }: WindowedTable): ResourceLetter {
  const found = RESOURCE_LETTERS.find((letter) => VERSION_TABLES[letter] === table);
  if (found === undefined) throw new Error(`${table} holds no versions.`);
  return found;
}

/**
 * Removes expired versions from a window. Keeps current versions, those with the facts of a kept version, and those of client codes with a
 * longer period. A trigger records versions written to the window meanwhile (rare: old records that are new to Bellhop), which are copied
 * at the end.
 */
export async function expireVersionWindow(
  sessions: RetentionSessions,
  of: WindowedTable,
  expiring: ExpiringWindow,
): Promise<Expired> {
  const { window, past } = expiring;
  const client = sessions.copying;
  const { schema } = of;
  const resource = resourceOfVersions(of);
  const codes = past
    .listOf(["versions"])
    .flatMap((one) => (one.resource === resource ? [one.clientCode] : []));
  let late = "";
  try {
    const expired = await expireWindow(sessions, of, expiring, async (successor) => {
      late = `${successor}_late`;
      await recordLate(sessions, of, window.name, late);
      const { rows } = await query<{ count: number }>(client, estimateRows, [`${schema}.${window.name}`]);
      const keptRows = await copyKept(sessions, of, expiring, successor, codes);
      await client.query(`analyze ${schema}.${successor}`);
      return {
        rows: rows[0]?.count ?? 0,
        keptRows,
        mayVanish: false,
        // Checked before the gate, so that appliers do not wait in vain.
        isComplete: async (replacing) => (await countLate(replacing, of, late)) <= LATE_MAX,
        complete: async (replacing) => {
          if ((await copyLate(replacing, of, successor, late)) > LATE_MAX)
            throw new Error(`Too many rows were written to ${window.name} while it was copied.`);
          await writeHorizons(replacing, expiring, ["versions"], resource);
        },
      };
    });
    if (expired.replaced === null) await dropLate(sessions, of, window.name, late);
    else await client.query(`drop table ${schema}.${late}`);
    return expired;
  } catch (error) {
    if (late !== "") await dropLate(sessions, of, window.name, late).catch(() => undefined);
    throw error;
  }
}

async function copyKept(
  sessions: RetentionSessions,
  of: WindowedTable,
  { window }: ExpiringWindow,
  successor: string,
  codes: readonly string[],
): Promise<number> {
  const client = sessions.copying;
  const { schema, table } = of;
  const [from, to] = [
    Number.isFinite(window.fromMs) ? of.boundOf(window.fromMs) : "-infinity",
    of.boundOf(window.toMs),
  ];
  const version = `${schema}.${window.name} as version`;
  const key = "bucket, property_id, key, source_time, content_hash";
  const expiring = await client.query<{ ids: number[] }>(
    "select coalesce(array_agg(property_id), '{}') as ids from bellhop.property where client_code = any ($1::text[])",
    [codes],
  );
  // Driven by the few versions that are kept, so most of the window is not read. One version may match several selections.
  const selections: [string, unknown[]][] = [
    [`${version} where version.property_id <> all ($1::integer[])`, [expiring.rows[0]?.ids ?? []]],
    ...[
      ["source_time", ""],
      ["facts_source_time", "and facts_source_time <> source_time"],
    ].map(([time, other]): [string, unknown[]] => [
      `(
        select bucket, property_id, key, ${time} as source_time from bellhop_state.current_record
        where resource = $1 and ${time} >= $2::timestamptz and ${time} < $3::timestamptz ${other}
      ) as current join ${version} using (bucket, property_id, key, source_time)`,
      [resourceOfVersions(of), from, to],
    ]),
    [
      `(
        select distinct bucket, property_id, key, facts_source_time as source_time, content_hash from ${schema}.${table}
        where source_time >= $2::timestamptz and facts_source_time >= $1::timestamptz and facts_source_time < $2::timestamptz
      ) as needed join ${version} using (${key})`,
      [from, to],
    ],
  ];
  let copied = 0;
  for (const [selection, values] of selections) {
    const countKept = () => countRows(client, selection, values);
    await checkRoomFor(
      sessions,
      of,
      window,
      async (bytes) => (bytes * (await countKept())) / (await countRows(client, version)),
    );
    const { rowCount } = await client.query(
      `insert into ${schema}.${successor} select version.* from ${selection} on conflict do nothing`,
      values,
    );
    copied += rowCount ?? 0;
  }
  return copied;
}

/** Records rows written to a window from now on in a separate table, by a trigger. */
async function recordLate(
  { copying, replacing }: RetentionSessions,
  of: WindowedTable,
  window: string,
  late: string,
): Promise<void> {
  const { schema, table } = of;
  await copying.query(`create table ${schema}.${late} (like ${schema}.${table})`);
  const name = `${schema}.${window}`;
  await placeByBucket(copying, [`${schema}.${late}`]);
  await atGate(replacing, name, () => noteWrites(replacing, name, `${schema}.${late}`, TRIGGER));
}

async function dropTrigger(client: pg.ClientBase, window: string): Promise<void> {
  await atGate(client, window, () => stopNoting(client, window, TRIGGER));
}

async function dropLate(
  { copying, replacing }: RetentionSessions,
  of: WindowedTable,
  window: string,
  late: string,
): Promise<void> {
  const { schema } = of;
  await dropTrigger(replacing, `${schema}.${window}`);
  await copying.query(`drop table if exists ${schema}.${late}`);
}

/** The windows of a table with a trigger named $3. */
const findTriggered = namedStatement(
  "find-noting",
  `select format('%I.%I', $1::text, partition.relname) as name
  from pg_trigger as noting join pg_class as partition on partition.oid = noting.tgrelid
  join pg_inherits as child on child.inhrelid = partition.oid
  where noting.tgname = $3 and child.inhparent = format('%I.%I', $1::text, $2::text)::regclass`,
);

/** The windows of a table that have the trigger, with their schema. */
export async function findRecordingWindows(
  on: Queryable,
  { schema, table }: WindowedTable,
): Promise<string[]> {
  const { rows } = await query<{ name: string }>(on, findTriggered, [schema, table, TRIGGER]);
  return rows.map(({ name }) => name);
}

/** Removes the triggers and tables of killed runs from all windows of a table. */
export async function dropAllLate(client: pg.ClientBase, of: WindowedTable): Promise<void> {
  for (const name of await findRecordingWindows(client, of)) await dropTrigger(client, name);
}

/** Number of late versions, counted up to the limit. */
async function countLate(client: pg.ClientBase, { schema }: WindowedTable, late: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer as count from (select 1 from ${schema}.${late} limit ${LATE_MAX + 1}) as late`,
  );
  return rows[0]?.count ?? 0;
}

/** Copies the newest form of late versions to the successor; returns how many. */
async function copyLate(
  client: pg.ClientBase,
  of: WindowedTable,
  successor: string,
  late: string,
): Promise<number> {
  const { schema } = of;
  const key = ["bucket", "property_id", "key", "source_time", "content_hash"];
  const same = key.map((column) => `kept.${column} = late.${column}`).join(" and ");
  const count = await countLate(client, of, late);
  if (count === 0 || count > LATE_MAX) return count;
  await client.query(
    `delete from ${schema}.${successor} as kept using ${schema}.${late} as late where ${same}`,
  );
  await client.query(
    `insert into ${schema}.${successor}
    select version.* from (select distinct ${key.join(", ")} from ${schema}.${late}) as late
    join ${schema}.${of.table} as version using (${key.join(", ")})`,
  );
  return count;
}
