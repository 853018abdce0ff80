import { countText, spanText } from "../../../cli/amounts.ts";
import { microsecondsOf } from "../../../ingest/log/request-id.ts";
import { namedStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** The partitions of the service's tables, each with its bounds as PostgreSQL writes them. */
const READ_PARTITIONS = namedStatement(
  "read-partitions",
  `select parent.oid::regclass::text as table, child.relname as partition, pg_get_expr(child.relpartbound, child.oid) as bounds
  from pg_inherits
  join pg_class as parent on parent.oid = inhparent
  join pg_class as child on child.oid = inhrelid
  join pg_namespace as space on space.oid = parent.relnamespace
  where space.nspname in ('bellhop', 'bellhop_state') and parent.relkind = 'p' and child.relkind in ('r', 'p')
  order by 1, 2`,
);

interface Partition {
  readonly table: string;
  readonly partition: string;
  readonly bounds: string;
}

/** A time in milliseconds of one bound: the id of a request, or a timestamp; undefined for MINVALUE and MAXVALUE. */
function momentOf(bound: string | undefined): number | undefined {
  const text = /^'(.*)'$/.exec(bound ?? "")?.[1];
  if (text === undefined) return undefined;
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-/.test(text)) return microsecondsOf(text) / 1000;
  const parsed = Date.parse(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"));
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** From when to when a partition holds, in milliseconds since 1970. */
function rangeOf({ bounds }: Partition): { from: number | undefined; to: number | undefined } {
  const [, from, to] = /^FOR VALUES FROM \((.*)\) TO \((.*)\)$/.exec(bounds) ?? [];
  return { from: momentOf(from), to: momentOf(to) };
}

function findingOf(table: string, partitions: readonly Partition[], now: number): Finding {
  const id = "partitions.ahead";
  const last = partitions
    .map(rangeOf)
    .reduce((latest, range) => ((range.to ?? 0) > (latest.to ?? 0) ? range : latest));
  const end = last.to;
  const counted = `${table} has ${countText(partitions.length, "partition")}`;
  if (end === undefined) return fine(id, `${counted}.`);
  const window = end - (last.from ?? end);
  if (end > now + window)
    return fine(id, `${counted}, the last one ends in ${spanText((end - now) / 1000)}.`);
  return trouble(end > now ? "warn" : "fail", id, {
    says: `${counted}, and the last one ${end > now ? `ends in ${spanText((end - now) / 1000)}` : "has ended"}.`,
    means: "Beyond it nothing can be stored: batches would be answered 503.",
    advice:
      "A running service makes them ahead once an hour: see its log for why it does not (rights, a lock that somebody holds).",
  });
}

/** Whether the partitions of time are made ahead. */
export const partitions: Check<DatabaseSubject> = {
  name: "partitions",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Partition>(READ_PARTITIONS);
    const clock = await pool.query<{ now: Date }>("select clock_timestamp() as now");
    const now = clock.rows[0]?.now.getTime() ?? Date.now();
    const byTable = Map.groupBy(rows, ({ table }) => table);
    return [...byTable].map(([table, of]) => findingOf(table, of, now));
  },
};
