import type pg from "pg";
import type { Contestant } from "./contestant.ts";
import { type Started, startAppendLimit, startBareLimit, startPeer } from "./contestants.ts";
import { LoadProcess } from "./load-process.ts";
import { startPeerDatabase } from "./peer-database.ts";
import type { Peer } from "./peers.ts";
import { type StartedService, startService } from "./started-service.ts";
import { countStatements, statementTimes } from "./statement-times.ts";

export interface BenchOptions {
  readonly peers: readonly Peer[];
  /** Threads of the validate-and-append limit: as many as the service has for HTTP. */
  readonly threads: number;
  /** Where the service's CPU profile goes; PostgreSQL's statements are then counted too. */
  readonly profileDirectory: string | undefined;
}

/** Everything that runs during a bench. */
export interface Bench {
  /** In the order of a round; the service is the first. */
  readonly contestants: readonly Contestant[];
  readonly load: LoadProcess;
  readonly service: StartedService;
  statementLines(): Promise<string[]>;
  close(): Promise<void>;
}

function profiled(directory: string | undefined): Parameters<typeof startService>[1] {
  if (directory === undefined) return {};
  return { nodeOptions: ["--cpu-prof", `--cpu-prof-dir=${directory}`], statements: true };
}

/** Starts the service, the peers, the limits and the load. What was started is stopped when a later step fails. */
export async function openBench({ peers, threads, profileDirectory }: BenchOptions): Promise<Bench> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const kept = <Kept extends Started>(started: Kept): Kept => {
    closers.push(started.stop);
    return started;
  };
  try {
    const service = kept(await startService("bellhop", profiled(profileDirectory)));
    const clientConfig = clientConfigOf(service.client);
    if (profileDirectory !== undefined) await countStatements(clientConfig, service.service.dataDir);
    const started: Started[] = [
      service,
      kept(await startService("bellhop-accept", { settings: { APPLY: "off" } })),
    ];
    const database = await startPeerDatabase();
    closers.push(() => database.close());
    for (const peer of peers) started.push(kept(await startPeer(peer, database)));
    started.push(kept(await startAppendLimit(database, threads)), kept(await startBareLimit()));
    const load = new LoadProcess();
    closers.push(() => load.stop());
    return {
      contestants: started.map(({ contestant }) => contestant),
      load,
      service,
      close,
      statementLines: async () => {
        if (profileDirectory === undefined) return [];
        const lines = await statementTimes(clientConfig, service.service.dataDir);
        return ["Statements, warm-up and COPY included:", ...lines];
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function clientConfigOf({ host, port, database }: pg.Client): pg.ClientConfig {
  return { host, port, ...(database === undefined ? {} : { database }) };
}
