import pg from "pg";
import { clientConfig } from "../src/platform/db/connection.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded-postgres.ts";
import { createLogger } from "../src/platform/telemetry/log.ts";
import type { Contestant } from "./contestant.ts";
import { GarbageMeter, TRACE_GARBAGE } from "./garbage-meter.ts";
import { ProcessMeter, parentOf } from "./process-meter.ts";
import { type ServiceOptions, type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { untilDrained } from "./until-drained.ts";

/** A running service and a session on its database. */
export interface StartedService {
  readonly contestant: Contestant;
  readonly service: ServiceProcess;
  readonly client: pg.Client;
  /** The connection settings of `client`, for further sessions. */
  readonly database: pg.ClientConfig;
  stop(): Promise<void>;
}

/** Settings of a service that does not apply batches. */
export const ACCEPT_ONLY = { ROLE: "accept,read" } as const;

/** Starts the service as a contestant of this name, which is done when batches are applied; with ACCEPT_ONLY, when they are accepted. */
export async function startService(name: string, options: ServiceOptions = {}): Promise<StartedService> {
  const service = await startServiceProcess(options);
  const closers: (() => unknown)[] = [service.stop];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    // Not openDatabase, which would migrate the schema of another revision.
    const log = createLogger({ level: "silent", pretty: false });
    const server = await startEmbeddedPostgres(service.dataDir, "command", log);
    closers.push(() => server.close());
    const database = clientConfig(server.address);
    const client = new pg.Client(database);
    await client.connect();
    closers.push(() => client.end());
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const postmaster = ProcessMeter.supported ? parentOf(rows[0]?.pid ?? 0) : 0;
    const applies = options.settings?.["ROLE"]?.includes("apply") !== false;
    return {
      service,
      client,
      database,
      stop,
      contestant: {
        name,
        atLeastMs: 0,
        node: new ProcessMeter(service.pid, false),
        ...(ProcessMeter.supported && options.nodeOptions?.includes(TRACE_GARBAGE) === true
          ? { garbage: new GarbageMeter(service.pid, service.logFile) }
          : {}),
        database: { client, postgres: new ProcessMeter(postmaster, true) },
        targetOf: (resource, gzip) => ({
          port: service.port,
          path: `/api/public/v1/${resource}`,
          headers: [`Authorization: Bearer ${service.token}`, ...(gzip ? ["Content-Encoding: gzip"] : [])],
          gzip,
        }),
        untilApplied: async (sent) => (applies ? await untilDrained(client, sent.startedAt) : sent.endedAt),
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
