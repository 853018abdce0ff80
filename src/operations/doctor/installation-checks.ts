import { knowledgeOfAddresses, nodesWithout } from "../../identity/key-admin.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { offsetMsAt } from "../../settings/business-day.ts";
import { type Check, error, type Finding, findOfServers, ok, warning } from "./finding.ts";

const COUNT_NODES = namedStatement(
  "count-node-sessions",
  `select count(*)::integer as nodes from pg_stat_activity
  where datname = current_database() and application_name = 'bellhop node'`,
);

const NAMED_MAX = 3;
const named = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(", ")
    : `${names.slice(0, NAMED_MAX).join(", ")} and ${names.length - NAMED_MAX} more`;

/** Judges the nodes on this database by the addresses that they announce. `others`: those with other ones than this environment. */
export function addressFinding(nodes: number, others: readonly string[]): Finding {
  const id = "nodes.addresses";
  if (others.length === 0)
    return ok(id, "All running nodes have the BASE_URL and AUTH_URL of this environment.");
  const says = `${countText(others.length, "node has", "nodes have")} another BASE_URL or AUTH_URL than this environment: ${named(others)}`;
  if (others.length === nodes)
    return warning(
      id,
      `${says}.`,
      "This command does not have the service's settings, or DATABASE_URL names the database of another installation.",
      "Run it in the service's environment. If the nodes are another installation's, correct DATABASE_URL.",
    );
  return error(
    id,
    `${says}, and ${nodes - others.length} of ${nodes} have the same.`,
    "Two installations share this database: each accepts, applies and delivers the other's batches, and shows its data.",
    "Stop the one that does not belong here, and give it a database of its own. If both are one installation, set the same addresses on every node.",
  );
}

/** Whether nodes of another installation run on this database. */
export const addresses: Check = {
  name: "nodes",
  run: async ({ config, database: { pool } }) => {
    const others = await nodesWithout(pool, knowledgeOfAddresses(config));
    const { rows } = await pool.query<{ nodes: number }>(COUNT_NODES);
    return addressFinding(Math.max(rows[0]?.nodes ?? 0, others.length), others);
  },
};

const READ_ZONES = namedStatement(
  "read-property-time-zones",
  "select distinct value as zone from bellhop.property_setting where name = 'timeZone' order by 1",
);
const READ_OFFSETS = readStatement(new URL("./sql/read-zone-offsets.sql", import.meta.url));

const WEEK_SECONDS = 7 * 86_400;
/** Rules that begin later are in later releases of the time zone data. */
const WEEKS_COMPARED = 53;

interface ZoneOffsets {
  readonly zone: string;
  /** In minutes, at each compared instant; null if the server does not know the zone. */
  readonly minutes: readonly number[] | null;
}

/** The instant (seconds since 1970) at which the server and this machine first disagree about a zone; undefined if never. */
function firstDifference({ zone, minutes }: ZoneOffsets, instants: readonly number[]): number | undefined {
  return instants.find(
    (seconds, at) => Math.round(offsetMsAt(seconds * 1000, zone) / 60_000) !== minutes?.[at],
  );
}

/** Judges the server's time zone data by this machine's, at these instants (seconds since 1970). */
export function* zoneFindings(zones: readonly ZoneOffsets[], instants: readonly number[]): Iterable<Finding> {
  const id = "database.time-zones";
  const unknown = zones.filter(({ minutes }) => minutes === null).map(({ zone }) => zone);
  if (unknown.length > 0)
    yield error(
      id,
      `The server does not know ${countText(unknown.length, "time zone", "time zones")} of properties: ${named(unknown)}.`,
      "SQL views and functions of the schema analytics fail for those properties, and for questions about several.",
      "Update the server's time zone data (the package tzdata, or PostgreSQL itself) and restart it, or set the property's timeZone to a name that it knows.",
    );
  const apart = zones.flatMap((one) => {
    const from = one.minutes === null ? undefined : firstDifference(one, instants);
    return from === undefined ? [] : [`${one.zone} (${new Date(from * 1000).toISOString().slice(0, 10)})`];
  });
  if (apart.length > 0)
    yield warning(
      id,
      `The server's time zone data and this machine's differ for ${countText(apart.length, "time zone", "time zones")} of properties: ${named(apart)}.`,
      "SQL views and answers of the service count the same booking on different days of such a property.",
      "One of them is outdated: update the server's time zone data (the package tzdata, or PostgreSQL itself), or Node.",
    );
  if (unknown.length + apart.length === 0)
    yield ok(
      id,
      `The server and this machine agree on the ${countText(zones.length, "time zone", "time zones")} of properties.`,
    );
}

/** Whether the server and Node know the properties' time zones alike, now and during the next year. */
export const timeZones: Check = {
  name: "database.time-zones",
  run: async (subject) => {
    const { rows } = await subject.database.pool.query<{ zone: string }>(READ_ZONES);
    const now = Math.floor(Date.now() / 1000);
    const instants = Array.from({ length: WEEKS_COMPARED }, (_, week) => now + week * WEEK_SECONDS);
    const values = [rows.map(({ zone }) => zone), instants];
    return findOfServers<ZoneOffsets>(subject, { ...READ_OFFSETS, values }, (found) =>
      zoneFindings(found, instants),
    );
  },
};
