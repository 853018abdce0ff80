import { type ChildServer, startChildServer } from "./child-server.ts";
import type { Contestant } from "./contestant.ts";
import type { PeerDatabase } from "./peer-database.ts";
import { installPeer, type Peer, serverOf } from "./peers.ts";
import { ProcessMeter } from "./process-meter.ts";

/** The bare server would be done with a round before its clock meant anything. */
const BARE_MS_MIN = 1_000;

/** A server of a peer or a limit: what it has answered is done. */
function serverContestant(
  name: string,
  share: number,
  server: ChildServer,
  database: PeerDatabase | undefined,
): Contestant {
  const { port, headers = [], requests = {}, status = 202, answerHolds = "" } = server.ready;
  return {
    name,
    share,
    atLeastMs: database === undefined ? BARE_MS_MIN : 0,
    node: new ProcessMeter(server.pid, true),
    database:
      database === undefined
        ? undefined
        : { client: database.client, postgres: new ProcessMeter(database.postmasterPid, true) },
    targetOf: (resource) => ({
      port,
      headers,
      status,
      answerHolds,
      gzip: false,
      ...(requests[resource] ?? { path: `/api/public/v1/${resource}`, prefix: "", suffix: "" }),
    }),
    untilApplied: async (sent) => sent.endedAt,
  };
}

export interface Started {
  readonly contestant: Contestant;
  stop(): Promise<void>;
}

export async function startPeer(peer: Peer, database: PeerDatabase): Promise<Started> {
  installPeer(peer);
  const server = await startChildServer(serverOf(peer), await database.environmentOf(peer.name));
  return { contestant: serverContestant(peer.name, peer.share, server, database), stop: server.stop };
}

export async function startAppendLimit(database: PeerDatabase, threads: number): Promise<Started> {
  const server = await startChildServer(new URL("./append-limit-server.ts", import.meta.url), {
    ...(await database.environmentOf("append-limit")),
    THREADS: String(threads),
  });
  return { contestant: serverContestant("append-limit", 1, server, database), stop: server.stop };
}

export async function startBareLimit(): Promise<Started> {
  const server = await startChildServer(new URL("./bare-http-server.ts", import.meta.url), {});
  return { contestant: serverContestant("bare-limit", 1, server, undefined), stop: server.stop };
}
