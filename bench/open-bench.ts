import type pg from "pg";
import { Closers } from "./closers.ts";
import type { Contestant } from "./contestant.ts";
import { type Started, startAppendLimit, startBareLimit, startGoodTeam } from "./contestants.ts";
import { TRACE_GARBAGE } from "./garbage-meter.ts";
import { LoadProcess } from "./load-process.ts";
import { startPeerDatabase } from "./peer-database.ts";
import { ACCEPT_ONLY, type StartedService, startService } from "./started-service.ts";
import { countStatements, statementTimes } from "./statement-times.ts";

export interface BenchOptions {
  readonly withPeer: boolean;
  /** Threads of the append limit server: as many as the service has for HTTP. */
  readonly threads: number;
  /** The directory of the service's CPU profiles; also counts PostgreSQL's statements. */
  readonly profileDirectory: string | undefined;
}

export interface Bench {
  /** In the order of a round; the service is first. */
  readonly contestants: readonly Contestant[];
  readonly load: LoadProcess;
  readonly service: StartedService;
  statementLines(): Promise<string[]>;
  close(): Promise<void>;
}

function profiled(directory: string | undefined): Parameters<typeof startService>[1] {
  if (directory === undefined) return { nodeOptions: [TRACE_GARBAGE] };
  return {
    nodeOptions: [TRACE_GARBAGE, "--cpu-prof", `--cpu-prof-dir=${directory}`],
    statements: true,
  };
}

/** Starts the service, the good team, the limits and the load. Stops them all if a step fails. */
export async function openBench({ withPeer, threads, profileDirectory }: BenchOptions): Promise<Bench> {
  const closers = new Closers();
  try {
    const service = closers.kept(await startService("bellhop", profiled(profileDirectory)));
    const clientConfig = clientConfigOf(service.client);
    if (profileDirectory !== undefined) await countStatements(clientConfig, service.service.dataDir);
    const started: Started[] = [
      service,
      closers.kept(await startService("bellhop-accept", { settings: ACCEPT_ONLY })),
    ];
    const database = await startPeerDatabase();
    closers.add(() => database.close());
    if (withPeer) started.push(closers.kept(await startGoodTeam(database)));
    started.push(
      closers.kept(await startAppendLimit(database, threads)),
      closers.kept(await startBareLimit()),
    );
    const load = closers.kept(new LoadProcess());
    return {
      contestants: started.map(({ contestant }) => contestant),
      load,
      service,
      close: () => closers.close(),
      statementLines: async () => {
        if (profileDirectory === undefined) return [];
        const lines = await statementTimes(clientConfig, service.service.dataDir);
        return ["Statements, warm-up and COPY included:", ...lines];
      },
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

function clientConfigOf({ host, port, database }: pg.Client): pg.ClientConfig {
  return { host, port, ...(database === undefined ? {} : { database }) };
}
