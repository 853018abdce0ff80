import { createHash } from "node:crypto";
import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { readKnownVersions } from "../apply/state/look-up.ts";
import { RESOURCE_LETTERS } from "../apply/state/record.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { isWindowed, readWindows, type TimeWindow, type WindowedTable } from "../platform/db/time-windows.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Retained, Terms } from "./terms.ts";

interface KnownClient {
  readonly clientCode: string;
  readonly buckets: readonly number[];
}

/** Every client code with a property. */
export async function readClients(client: Queryable): Promise<KnownClient[]> {
  const { rows } = await client.query<{ client_code: string; buckets: number[] }>(
    "select client_code, array_agg(distinct bucket) as buckets from bellhop.property group by client_code order by client_code",
  );
  return rows.map(({ client_code: clientCode, buckets }) => ({ clientCode, buckets }));
}

/** Determines which data older than an instant has expired. */
export class PastTerm {
  readonly #clients: readonly KnownClient[];
  readonly isPast: (clientCode: string, resource: ResourceLetter, kind: Retained) => boolean;
  readonly #outcomesKept = new Set<string>();

  /** `ageMs`: the age of the youngest data. */
  constructor(clients: readonly KnownClient[], terms: Terms, ageMs: number) {
    this.#clients = clients;
    this.isPast = (clientCode, resource, kind) => terms.of(clientCode, resource, kind) <= ageMs;
    for (const resource of RESOURCE_LETTERS)
      for (const { clientCode, buckets } of clients)
        if (!this.isPast(clientCode, resource, "outcomes"))
          for (const bucket of buckets) this.#outcomesKept.add(`${bucket} ${resource}`);
  }

  /**
   * Whether a part's outcomes have expired for all client codes with a property in its bucket, as a part does not record whose records it
   * contains.
   */
  areOutcomesPast(bucket: number, resource: ResourceLetter): boolean {
    return !this.#outcomesKept.has(`${bucket} ${resource}`);
  }

  /** Whether a resource and kind have expired for all, none or some client codes. */
  shareOf(resource: ResourceLetter, kind: Retained): "all" | "none" | "some" {
    const past = this.#clients.filter(({ clientCode }) => this.isPast(clientCode, resource, kind)).length;
    return past === 0 ? "none" : past === this.#clients.length ? "all" : "some";
  }

  /** Everything expired of some kinds. */
  listOf(
    kinds: readonly Retained[],
  ): readonly { clientCode: string; resource: ResourceLetter; kind: Retained }[] {
    return kinds.flatMap((kind) =>
      RESOURCE_LETTERS.flatMap((resource) =>
        this.#clients.flatMap(({ clientCode }) =>
          this.isPast(clientCode, resource, kind) ? [{ clientCode, resource, kind }] : [],
        ),
      ),
    );
  }
}

/** Raises the start of the known history to $4; a horizon never goes back. */
const writeHorizon = namedStatement(
  "write-horizon",
  `insert into bellhop.retention_horizon as kept (client_code, resource, kind, known_from)
  select client_code, resource, kind, $4::timestamptz
  from unnest($1::text[], $2::"char"[], $3::text[]) as past (client_code, resource, kind)
  on conflict (client_code, resource, kind)
    do update set known_from = greatest(kept.known_from, excluded.known_from)`,
);

/** Rules of a retention run. */
export interface RetentionRules {
  readonly terms: Terms;
  readonly clients: readonly KnownClient[];
  /** The database's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** A window with expired data that has not been deleted. */
export interface ExpiringWindow {
  readonly window: TimeWindow;
  readonly past: PastTerm;
  /** The comment on the window's table that records what has been deleted. */
  readonly mark: string;
  /** The mark is present: the window is only due because of versions of a new client code. */
  readonly isMarked: boolean;
}

/**
 * The windows of a table to process: those for which another period has expired or changed since the last time; again at twice, four times
 * … the period's age for versions replaced since; and windows of versions with a client code that is new. `resource`: the only one in the
 * table.
 */
export async function findExpiring(
  client: Queryable,
  of: WindowedTable,
  kinds: readonly Retained[],
  { terms, clients, nowMs }: RetentionRules,
  resource?: ResourceLetter,
): Promise<ExpiringWindow[]> {
  const shortestMs = Math.min(...kinds.map((kind) => terms.shortest(kind)));
  if (shortestMs === Number.POSITIVE_INFINITY || !(await isWindowed(client, of))) return [];
  const marks = await readMarks(client, of);
  const known = kinds.includes("versions") ? await readKnownVersions(client) : undefined;
  const expiring: ExpiringWindow[] = [];
  for (const window of await readWindows(client, of)) {
    const ageMs = nowMs - window.toMs;
    if (ageMs < shortestMs) continue;
    const past = new PastTerm(clients, terms, ageMs);
    const isHere = (one: { resource: ResourceLetter; kind: Retained }) =>
      kinds.includes(one.kind) && (resource === undefined || one.resource === resource);
    const list = past.listOf(kinds).filter(isHere);
    if (list.length === 0) continue;
    // Independent of the client codes: the log contains nothing of one from before its first batch.
    const over = terms.over(ageMs).filter(isHere);
    const passes = Math.floor(Math.log2(ageMs / shortestMs));
    const hash = createHash("sha256")
      .update(JSON.stringify([over.map((one) => [one.clientCode, one.resource, one.kind]), passes]))
      .digest("hex");
    const mark = `retention ${hash.slice(0, 32)}`;
    const isNewTo = ({ clientCode }: { clientCode: string }) =>
      known !== undefined && !(Date.parse(known.get(`${resource} ${clientCode}`) ?? "") >= window.toMs);
    const newcomers = list.filter(isNewTo).map(({ clientCode }) => clientCode);
    const isMarked = marks.get(window.name) === mark;
    if (!isMarked || (await holdsAnyOf(client, of, window, newcomers)))
      expiring.push({ window, past, mark, isMarked });
  }
  return expiring;
}

async function holdsAnyOf(
  client: Queryable,
  { schema }: WindowedTable,
  { name }: TimeWindow,
  clientCodes: readonly string[],
): Promise<boolean> {
  if (clientCodes.length === 0) return false;
  const properties = await client.query<{ buckets: number[] | null; ids: number[] | null }>(
    `select array_agg(distinct bucket) as buckets, array_agg(property_id) as ids
    from bellhop.property where client_code = any ($1::text[])`,
    [clientCodes],
  );
  const { buckets = null, ids = null } = properties.rows[0] ?? {};
  const { rowCount } = await client.query(
    `select from ${schema}.${name} where bucket = any ($1::smallint[]) and property_id = any ($2::integer[]) limit 1`,
    [buckets, ids],
  );
  return rowCount === 1;
}

async function readMarks(client: Queryable, of: WindowedTable): Promise<Map<string, string | null>> {
  const { rows } = await client.query<{ name: string; mark: string | null }>(
    `select partition.relname as name, obj_description(partition.oid, 'pg_class') as mark
    from pg_inherits as child join pg_class as partition on partition.oid = child.inhrelid
    where child.inhparent = $1::regclass`,
    [`${of.schema}.${of.table}`],
  );
  return new Map(rows.map(({ name, mark }) => [name, mark]));
}

/** Writes the mark of one of Bellhop's tables (table name and mark are generated here). */
export async function writeMark(
  client: pg.ClientBase,
  of: WindowedTable,
  name: string,
  mark: string,
): Promise<void> {
  await client.query(`comment on table ${of.schema}.${name} is '${mark}'`);
}

/**
 * Records the new start of the known history for a window's deleted data, of all resources or one. Must run in the deleting transaction.
 */
export async function writeHorizons(
  client: pg.ClientBase,
  { window, past }: ExpiringWindow,
  kinds: readonly Retained[],
  resource?: ResourceLetter,
): Promise<void> {
  const list = past.listOf(kinds).filter((one) => resource === undefined || one.resource === resource);
  await client.query({
    ...writeHorizon,
    values: [
      list.map(({ clientCode }) => clientCode),
      list.map(({ resource }) => resource),
      list.map(({ kind }) => kind),
      new Date(window.toMs).toISOString(),
    ],
  });
}

/** The columns of a table without generated ones, in order. */
export async function writtenColumns(client: pg.ClientBase, of: WindowedTable): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
    where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [`${of.schema}.${of.table}`],
  );
  return rows.map(({ name }) => name);
}
