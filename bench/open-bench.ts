import pg from "pg";
import { openDatabase } from "../src/db/open-database.ts";
import { createLogger } from "../src/observe/log.ts";
import type { Contestant } from "./contestant.ts";
import {
  type Started,
  serviceContestant,
  startAppendLimit,
  startBareLimit,
  startPeer,
} from "./contestants.ts";
import { LoadProcess } from "./load-process.ts";
import { startPeerDatabase } from "./peer-database.ts";
import type { Peer } from "./peers.ts";
import { ProcessMeter, parentOf } from "./process-meter.ts";
import { startServiceProcess } from "./service-process.ts";
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
  /** In the order of a round. */
  readonly contestants: readonly Contestant[];
  readonly load: LoadProcess;
  /** A session on the service's database. */
  readonly client: pg.Client;
  statementLines(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts the service, the peers, the limits and the load. What was started is stopped when a later step fails. */
export async function openBench({ peers, threads, profileDirectory }: BenchOptions): Promise<Bench> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const kept = ({ contestant, stop }: Started): Contestant => {
    closers.push(stop);
    return contestant;
  };
  try {
    const service = await startServiceProcess(
      profileDirectory === undefined
        ? {}
        : { nodeOptions: ["--cpu-prof", `--cpu-prof-dir=${profileDirectory}`], statements: true },
    );
    closers.push(service.stop);
    const database = await openDatabase(
      { databaseUrl: undefined, dataDir: service.dataDir, allowUnsafeDurability: false },
      createLogger({ level: "silent", pretty: false }),
      { role: "command", poolSize: 1 },
    );
    closers.push(() => database.close());
    if (profileDirectory !== undefined) await countStatements(database.clientConfig, service.dataDir);
    const client = new pg.Client(database.clientConfig);
    await client.connect();
    closers.push(() => client.end());
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const postmaster = ProcessMeter.supported ? parentOf(rows[0]?.pid ?? 0) : 0;
    const contestants = [serviceContestant(service, client, postmaster)];
    const peerDatabase = await startPeerDatabase();
    closers.push(() => peerDatabase.close());
    for (const peer of peers) contestants.push(kept(await startPeer(peer, peerDatabase)));
    contestants.push(kept(await startAppendLimit(peerDatabase, threads)), kept(await startBareLimit()));
    const load = new LoadProcess();
    closers.push(() => load.stop());
    return {
      contestants,
      load,
      client,
      close,
      statementLines: async () => {
        if (profileDirectory === undefined) return [];
        return [
          "Statements, warm-up and COPY included:",
          ...(await statementTimes(database.clientConfig, service.dataDir)),
        ];
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
