import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { askOthers } from "../../src/platform/db/dialect.ts";
import { LOWER_PRIORITY_NICE } from "../../src/platform/runtime/lower-priority.ts";
import { withDatabaseOf } from "../faults/database-of-service.ts";
import { ServiceProcess } from "../faults/service-process.ts";
import { createTestDatabase } from "../support/database.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const onlyLinux = process.platform === "linux" ? {} : { skip: "only Linux has priorities of threads" };

/** The nice value, field 19 of /proc/…/stat; the name before it, in brackets, may hold spaces. */
function niceOf(directory: string): number {
  const stat = readFileSync(`${directory}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
}

/** Of the threads of a process, by name. */
function nicesOf(processId: number | "self"): Map<string, Set<number>> {
  const nices = new Map<string, Set<number>>();
  for (const thread of readdirSync(`/proc/${processId}/task`)) {
    const directory = `/proc/${processId}/task/${thread}`;
    const name = readFileSync(`${directory}/comm`, "utf8").trim();
    nices.set(name, (nices.get(name) ?? new Set()).add(niceOf(directory)));
  }
  return nices;
}

const SESSIONS = `select application_name as name, pid from pg_stat_activity
  where datname = current_database() and application_name in ('bellhop apply', 'bellhop accept')`;

describe("applying threads run at lower priority than serving threads", onlyLinux, () => {
  const own = niceOf("/proc/self");
  const given = Math.max(own, LOWER_PRIORITY_NICE);
  let service: ServiceProcess;
  before(async () => {
    service = await ServiceProcess.prepare();
    service.start();
    await service.untilReady(60_000);
  });
  after(() => service.remove());

  test("each thread that applies, and no other thread of the process", () => {
    const nices = nicesOf(service.pid);
    for (const name of ["apply-1", "apply-2"]) assert.deepEqual(nices.get(name), new Set([given]), name);
    for (const [name, values] of nices)
      if (!name.startsWith("apply-")) assert.deepEqual(values, new Set([own]), name);
    assert.ok(nices.has("http-1") && nices.has("libuv-worker"));
  });

  test("so do their sessions of the embedded PostgreSQL, but not those that append", async () => {
    await withDatabaseOf(service.dataDir, async (pool) => {
      // What applies opens its sessions while the service says that it is ready.
      await until(async () => {
        const { rows } = await pool.query<{ name: string; pid: number }>(SESSIONS);
        const found = rows.map(({ name, pid }) => `${name} ${niceOf(`/proc/${pid}`)}`).sort();
        const [accept, apply] = [`bellhop accept ${own}`, `bellhop apply ${given}`];
        return isDeepStrictEqual(found, [accept, accept, apply, apply]);
      }, 20_000);
    });
  });

  test("so do SQL sessions of other programs", async () => {
    await withDatabaseOf(service.dataDir, async (pool) => {
      const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
      const pid = rows[0]?.pid ?? 0;
      await until(async () => niceOf(`/proc/${pid}`) === given, 20_000);
    });
  });

  test("but no session of a database that is not ours: the number may be that of any process here", async () => {
    const database = await createTestDatabase();
    const node = await startTestService({}, { database });
    // On Citus most are at workers.
    const sessions = async () => {
      const others = await askOthers(database.pool, { name: "sessions", text: SESSIONS });
      const { rows } = await database.pool.query(SESSIONS);
      return [...rows, ...others.flatMap((of) => of.rows ?? [])] as { name: string; pid: number }[];
    };
    try {
      await until(async () => new Set((await sessions()).map(({ name }) => name)).size === 2, 20_000);
      for (const { pid } of await sessions()) assert.equal(niceOf(`/proc/${pid}`), own);
    } finally {
      await node.stop();
      await database.drop();
    }
  });
});
