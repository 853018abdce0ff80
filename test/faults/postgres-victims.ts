import { readFile } from "node:fs/promises";
import { findServer, killQuietly, serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";

/** What of PostgreSQL is killed: the postmaster alone, one backend of the service, or every process at the same moment. */
export type PostgresVictim = "postmaster" | "backend" | "everything";

/** How often each: the first is what a stray kill or the kernel hits, the last what a power cut is for the database. */
export function pickVictim(random: SeededRandom): PostgresVictim {
  const dice = random.between(1, 10);
  return dice <= 4 ? "postmaster" : dice <= 7 ? "backend" : "everything";
}

/** The backends that serve connections of the service's role, by their titles. */
async function serviceBackends(dataDirectory: string): Promise<number[]> {
  const pids = await serverProcesses(dataDirectory);
  const titled = await Promise.all(
    pids.map(async (pid) => ({
      pid,
      title: await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
    })),
  );
  return titled.filter(({ title }) => /: bellhop bellhop /.test(title)).map(({ pid }) => pid);
}

/**
 * Kills outright, and answers the backends that served until then: PostgreSQL is back once they are gone and the service
 * is ready again. Undefined when there was nothing to kill, as in the middle of a recovery.
 */
export async function killPostgres(
  dataDirectory: string,
  victim: PostgresVictim,
  random: SeededRandom,
): Promise<readonly number[] | undefined> {
  const server = await findServer(dataDirectory);
  const backends = await serviceBackends(dataDirectory);
  const all = await serverProcesses(dataDirectory);
  if (server === undefined) return undefined;
  if (victim === "backend") {
    if (backends.length === 0) return undefined;
    killQuietly(random.pick(backends), "SIGKILL");
  } else {
    // The postmaster first, or it would begin to tidy up after its children.
    killQuietly(server.pid, "SIGKILL");
    if (victim === "everything") for (const pid of all) killQuietly(pid, "SIGKILL");
  }
  return backends;
}
