import type { Config } from "../config.ts";
import { createAuthenticator } from "../identity/authenticator.ts";
import {
  clientConfig,
  createPool,
  logSlowStatements,
  POOL_ANSWER_MS_MAX,
  type SessionSource,
} from "../platform/db/connection.ts";
import { Stops } from "../platform/runtime/stops.ts";
import { createMetrics } from "../platform/telemetry/metrics.ts";
import { startTracer } from "../platform/telemetry/telemetry.ts";
import { type HttpServing, ListeningAddresses, type Ports, prepareHttp } from "./serve-http.ts";
import type { ThreadCalls, ThreadContext } from "./service-thread.ts";
import type { SharedState } from "./shared-state.ts";

/** Parameters of an HTTP thread. */
export interface HttpOrder {
  readonly config: Config;
  readonly session: SessionSource;
  readonly dataDirectory: string | undefined;
  /** Size of the thread's pool. */
  readonly poolSize: number;
  readonly shared: SharedState;
}

/** Calls to an HTTP thread, as HttpServing. */
export type HttpCalls = ThreadCalls & {
  prepare(order: HttpOrder): Promise<void>;
  listen(ports: Ports): Promise<Ports>;
};

/** Starts one of several HTTP threads, with its own app, log writers and pool, on the shared port. */
export function begin({ name, log, main }: ThreadContext): HttpCalls {
  const stops = new Stops();
  let serving: HttpServing | undefined;
  let preparing: Promise<void> | undefined;
  const prepared = (): HttpServing => {
    if (serving === undefined) throw new Error("The thread has not been prepared.");
    return serving;
  };
  async function prepare({ config, session, dataDirectory, poolSize, shared }: HttpOrder) {
    const connection = clientConfig(session.address, session.synchronousCommit);
    const metrics = createMetrics();
    const watch = logSlowStatements(config.slowQueryMs, log, metrics);
    const pool = createPool(connection, log, poolSize, POOL_ANSWER_MS_MAX, watch);
    stops.push(() => pool.end());
    const tracer = stops.add(await startTracer(config.telemetry, { log, metrics }));
    const addresses = new ListeningAddresses(config);
    const authenticator = createAuthenticator({
      pool,
      config,
      log,
      addresses: addresses.read,
      changes: shared.authChanges,
    });
    await authenticator.prepare();
    const process = {
      processBlockedReason: () => main.call("blockedReason", undefined),
      processMetrics: () => main.call("metrics", undefined),
    };
    serving = await prepareHttp(
      {
        thread: name,
        config,
        log,
        metrics,
        tracer,
        pool,
        clientConfig: connection,
        dataDirectory,
        authenticator,
        addresses,
        shared,
        process,
      },
      stops,
    );
  }

  return {
    prepare: (order) => {
      preparing = prepare(order);
      return preparing;
    },
    listen: (ports) => prepared().listen(ports),
    blockedReason: (role) => prepared().blockedReason(role),
    metrics: () => prepared().metrics(),
    stop: async () => {
      // Another thread may fail while this one opens its log writers.
      await preparing?.catch(() => undefined);
      await stops.all();
    },
  };
}
