import type { Config } from "../../../config.ts";
import { QUESTION_CONNECTIONS } from "../../../platform/db/pool.ts";
import { namedStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** How many connections there may be and are, and how many of them an ordinary role can have. */
const READ_CONNECTIONS = namedStatement(
  "read-connections",
  `select
    current_setting('max_connections')::integer
      - coalesce(current_setting('superuser_reserved_connections', true)::integer, 0)
      - coalesce(current_setting('reserved_connections', true)::integer, 0) as most,
    (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as used,
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) as "roleMost",
    (select count(*)::integer from pg_stat_activity where usename = current_user) as "roleUsed",
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database()) as "databaseMost",
    (select count(*)::integer from pg_stat_activity where datname = current_database()) as "databaseUsed"`,
);

interface Connections {
  readonly most: number;
  readonly used: number;
  readonly roleMost: number | null;
  readonly roleUsed: number;
  readonly databaseMost: number | null;
  readonly databaseUsed: number;
}

/** Fewer than these free, and an operator's own command may find none. */
const FREE_MIN = 3;

/** Connections that one node of this configuration holds at most, as docs/operations.md counts them. */
function connectionsOfNode(config: Config): number {
  const questions = config.roles.includes("read") ? QUESTION_CONNECTIONS * config.httpThreads : 0;
  const pools = 13 + 3 * Math.max(0, config.httpThreads - 3) + questions;
  // Twice: a thread that has taken a batch of a backfill has log writers for those, too.
  const logWriters = config.roles.includes("accept") ? config.httpThreads * (config.acceptWriters + 1) : 0;
  const appliers = config.roles.includes("apply") ? 4 * config.applyWriters : 0;
  return pools + logWriters + appliers + 1;
}

/** Whether there are connections left, and enough for one more node. */
export const connections: Check<DatabaseSubject> = {
  name: "connections",
  async run({ config, database }) {
    const id = "database.connections";
    const { rows } = await database.pool.query<Connections>(READ_CONNECTIONS);
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not count its connections.");
    const bounds = [
      { what: "the server", most: found.most, used: found.used },
      { what: "the role", most: found.roleMost ?? found.most, used: found.roleUsed },
      { what: "the database", most: found.databaseMost ?? found.most, used: found.databaseUsed },
    ].map((bound) => ({ ...bound, free: bound.most - bound.used }));
    const tightest = bounds.reduce((least, bound) => (bound.free < least.free ? bound : least));
    const says = `${tightest.used} of ${tightest.most} connections of ${tightest.what} are in use`;
    const wanted = connectionsOfNode(config);
    const advice =
      "Raise max_connections (or the limit of the role), lower HTTP_THREADS or APPLY_WRITERS, or run fewer nodes.";
    if (tightest.free < FREE_MIN)
      return [
        trouble("fail", id, {
          says: `${says}.`,
          means:
            "A log writer or applier that has to be opened again finds no connection, and its node cannot accept or apply.",
          advice,
        }),
      ];
    // The embedded database has one node.
    if (tightest.free < wanted && !database.embedded)
      return [
        trouble("warn", id, {
          says: `${says}; one more node of these settings wants up to ${wanted}.`,
          means: "A node that is added, or started before another has ended, may not get its connections.",
          advice,
        }),
      ];
    return [fine(id, `${says}; a node of these settings holds up to ${wanted}.`)];
  },
};
