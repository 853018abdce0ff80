import { readdir, readFile, readlink } from "node:fs/promises";
import type pg from "pg";
import type { DatabaseRoad } from "../support/database-road.ts";
import { until } from "../support/until.ts";
import type { ServiceProcess } from "./service-process.ts";

/** What a statement on a forgotten connection may take, and the rollback after it (src/apply/postgres-apply-session.ts). */
const GIVEN_UP_MS_MAX = 90_000;

interface Ends {
  readonly ofNodes: readonly number[];
  readonly ways: readonly number[];
  readonly sessions: number;
}

/**
 * Once all is over, each connection has two ends: as many sockets in a node as ways on its road, as many sessions in
 * PostgreSQL as ways. Answers what is left over, as sentences.
 */
export async function checkRoads(
  pool: pg.Pool,
  nodes: readonly ServiceProcess[],
  roads: readonly DatabaseRoad[],
): Promise<string[]> {
  let found: Ends | undefined;
  const look = async () => {
    const ofNodes = await Promise.all(
      nodes.map(({ pid }, at) => countSockets(pid, (roads[at] as DatabaseRoad).port)),
    );
    const { rows } = await pool.query<{ sessions: number }>(
      `select count(*)::integer as sessions from pg_stat_activity
      where datname = current_database() and application_name like 'bellhop%'`,
    );
    // The harness's own connections call themselves so, too.
    const sessions = (rows[0]?.sessions ?? 0) - pool.totalCount;
    found = { ofNodes, ways: roads.map(({ ways }) => ways.length), sessions };
    const isLost = roads.some(({ ways }) => ways.some((way) => way.isLost));
    return !isLost && isEven(found);
  };
  try {
    await until(look, GIVEN_UP_MS_MAX);
    return [];
  } catch {
    return [`connections have been left with one end: ${JSON.stringify(found)}`];
  }
}

function isEven({ ofNodes, ways, sessions }: Ends): boolean {
  return ofNodes.join() === ways.join() && ways.reduce((sum, count) => sum + count, 0) === sessions;
}

/** Sockets to a port that a process holds, in whatever state. */
async function countSockets(pid: number, port: number): Promise<number> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const inodes = new Set<string>();
  for (const line of (await readFile(`/proc/${pid}/net/tcp`, "utf8")).split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/);
    if (fields[2]?.endsWith(`:${hexPort}`) === true) inodes.add(`socket:[${fields[9]}]`);
  }
  const held = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) =>
      readlink(`/proc/${pid}/fd/${fd}`).catch(() => "closed meanwhile"),
    ),
  );
  return held.filter((target) => inodes.has(target)).length;
}
