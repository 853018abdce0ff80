import type pg from "pg";
import type { BenchCase } from "./cases.ts";
import { type ChildServer, startChildServer } from "./child-server.ts";
import type { Contestant } from "./contestant.ts";
import type { PeerDatabase } from "./peer-database.ts";
import { installPeer, type Peer, serverOf } from "./peers.ts";
import { ProcessMeter } from "./process-meter.ts";
import type { ServiceProcess } from "./service-process.ts";
import { untilDrained } from "./until-drained.ts";

/** The bare server would be done with a round before its clock meant anything. */
const BARE_MS_MIN = 1_000;

function pathOf(resource: BenchCase["resource"]): string {
  return `/api/public/v1/${resource}`;
}

/** The service, and where its database's processes are. */
export function serviceContestant(
  service: ServiceProcess,
  client: pg.ClientBase,
  postmasterPid: number,
): Contestant {
  return {
    name: "bellhop",
    share: 1,
    atLeastMs: 0,
    node: new ProcessMeter(service.pid, false),
    database: { client, postgres: new ProcessMeter(postmasterPid, true) },
    targetOf: (resource, gzip) => ({
      port: service.port,
      path: pathOf(resource),
      headers: [`Authorization: Bearer ${service.token}`, ...(gzip ? ["Content-Encoding: gzip"] : [])],
      prefix: "",
      suffix: "",
      gzip,
      status: 202,
      answerHolds: "",
    }),
    untilApplied: async () => await untilDrained(client),
  };
}

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
      ...(requests[resource] ?? { path: pathOf(resource), prefix: "", suffix: "" }),
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
