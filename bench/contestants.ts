import { type ChildServer, startChildServer } from "./child-server.ts";
import type { Contestant } from "./contestant.ts";
import { GOOD_TEAM_SERVER, installGoodTeam } from "./good-team.ts";
import type { PeerDatabase } from "./peer-database.ts";
import { ProcessMeter } from "./process-meter.ts";

/** The bare server would finish a round too fast to be measured. */
const BARE_MS_MIN = 1_000;

/** A good-team or limit server, whose response means that the batch is processed. */
function serverContestant(name: string, server: ChildServer, database: PeerDatabase | undefined): Contestant {
  return {
    name,
    atLeastMs: database === undefined ? BARE_MS_MIN : 0,
    node: new ProcessMeter(server.pid, true),
    database:
      database === undefined
        ? undefined
        : { client: database.client, postgres: new ProcessMeter(database.postmasterPid, true) },
    targetOf: (resource) => ({
      port: server.ready.port,
      path: `/api/public/v1/${resource}`,
      headers: [],
      gzip: false,
    }),
    untilApplied: async (sent) => sent.endedAt,
  };
}

export interface Started {
  readonly contestant: Contestant;
  stop(): Promise<void>;
}

export async function startGoodTeam(database: PeerDatabase): Promise<Started> {
  installGoodTeam();
  const server = await startChildServer(GOOD_TEAM_SERVER, await database.environmentOf("good-team"));
  return { contestant: serverContestant("good-team", server, database), stop: server.stop };
}

export async function startAppendLimit(database: PeerDatabase, threads: number): Promise<Started> {
  const server = await startChildServer(new URL("./append-limit-server.ts", import.meta.url), {
    ...(await database.environmentOf("append-limit")),
    THREADS: String(threads),
  });
  return { contestant: serverContestant("append-limit", server, database), stop: server.stop };
}

export async function startBareLimit(): Promise<Started> {
  const server = await startChildServer(new URL("./bare-http-server.ts", import.meta.url), {});
  return { contestant: serverContestant("bare-limit", server, undefined), stop: server.stop };
}
