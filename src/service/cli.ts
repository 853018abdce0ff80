import { setTimeout as delay } from "node:timers/promises";
import { flag, type Noun, text, verb } from "../cli/command.ts";
import { type Config, readConfig, SANDBOX_CLIENT_CODE } from "../config.ts";
import { closeSandbox, type LocalClient, openSandbox, sandboxFile } from "../identity/local-clients.ts";
import { hasOperators } from "../identity/operators.ts";
import { createLogger, type Logger } from "../platform/telemetry/log.ts";
import { type Service, startService } from "./service.ts";

/** A drain must end within 10 s. Accepted batches are in the log already. */
const DRAIN_MS_MAX = 9_500;

/** The value of CLIENT_SECRET for a shell. A log that is not a terminal is kept, so there it is read from the file. */
function shownSecret({ clientSecret }: LocalClient, { dataDir }: Config): string {
  if (process.stdout.isTTY) return clientSecret;
  const file = `'${sandboxFile(dataDir).replaceAll("'", "'\\''")}'`;
  return `"$(sed -n 's/.*"clientSecret": "\\(.*\\)".*/\\1/p' ${file})"`;
}

/** Instructions for a first 202 and the console. */
function welcome(
  service: Service,
  config: Config,
  client: LocalClient | undefined,
  hasOperator: boolean,
): string[] {
  const base = config.baseUrl ?? service.address;
  const auth = config.authUrl ?? config.baseUrl ?? service.authAddress;
  const lines = [
    "",
    `Bellhop listens on ${service.address}`,
    `Documentation:     ${base}/docs`,
    `Console:           ${base}/console`,
    ...(hasOperator
      ? []
      : ["The console has no operator yet. Create one: npm run -s bellhop operator create NAME"]),
  ];
  if (client === undefined) return [...lines, ""];
  const record = {
    clientCode: SANDBOX_CLIENT_CODE,
    propertyCode: "LON01",
    createDateTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    occupancyDate: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  };
  return [
    ...lines,
    "",
    `Sandbox client, which may push ${SANDBOX_CLIENT_CODE}/*. Paste this to get a token, send a batch and read its outcome:`,
    "",
    `  export BASE_URL=${base} CLIENT_ID=${client.clientId} CLIENT_SECRET=${shownSecret(client, config)}`,
    `  TOKEN=$(curl -s ${auth}/api/oauth2/token -d grant_type=client_credentials -d client_id=$CLIENT_ID -d client_secret=$CLIENT_SECRET | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  REQUEST=$(curl -s $BASE_URL/api/public/v1/inventories -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Accept: text/plain' -d '[${JSON.stringify(record)}]'); echo "$REQUEST"`,
    `  curl -s $BASE_URL/api/public/v1/requests/$REQUEST -H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=5'; echo`,
    "",
  ];
}

interface StopRequests {
  /** Aborted by the first request; `first` resolves to its reason. */
  readonly signal: AbortSignal;
  readonly first: Promise<string>;
  readonly again: Promise<void>;
  /** Reports a failure: stops without grace. */
  failed(error: unknown): void;
  exitCode(): number;
}

/** A terminal sends SIGINT directly, through the launcher and perhaps through npm; within this time they count as one. */
const SAME_SIGNAL_MS = 500;

/** Listens for signals, uncaught errors, and the end of the launcher, without which the service could not be stopped. */
function listenForStop(log: Logger): StopRequests {
  const controller = new AbortController();
  const first = Promise.withResolvers<string>();
  const again = Promise.withResolvers<void>();
  const { signal } = controller;
  let firstAt = 0;
  let exitCode = 0;
  const request = (reason: string) => {
    if (!signal.aborted) firstAt = performance.now();
    else if (performance.now() - firstAt > SAME_SIGNAL_MS) again.resolve();
    first.resolve(reason);
    controller.abort();
  };
  const failed = (error: unknown) => {
    log.fatal({ err: error }, "a failure: stopping; the next start recovers");
    exitCode = 1;
    request("a failure");
    again.resolve();
  };
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => request(name));
  if (process.connected) process.once("disconnect", () => request("its launcher ended"));
  // For this thread; other threads' errors arrive as events. Node would print the error with all values that it quotes.
  process.on("uncaughtException", failed);
  return { signal, first: first.promise, again: again.promise, failed, exitCode: () => exitCode };
}

async function untilLate(begun: Promise<unknown>): Promise<undefined> {
  await begun;
  await delay(DRAIN_MS_MAX, undefined, { ref: false });
}

/** Serves until load balancers have seen /readyz fail. A second signal or a failure ends that at once. */
async function leaveWithGrace(service: Service, graceMs: number, again: Promise<void>): Promise<void> {
  service.leave();
  await Promise.race([new Promise((resolve) => setTimeout(resolve, graceMs)), again]);
}

async function settleSandbox(
  service: Service,
  config: Config,
  log: Logger,
): Promise<LocalClient | undefined> {
  const { internals } = service.authenticator;
  if (config.sandbox) return await openSandbox(internals, config.dataDir);
  const clientId = await closeSandbox(internals, config.dataDir);
  if (clientId !== undefined) log.warn({ clientId }, "the sandbox client of an earlier start was revoked");
  return undefined;
}

const own = verb({
  summary: "run the service",
  details:
    "Runs until SIGTERM, SIGINT or SIGHUP. Then /readyz answers 503, requests in flight are answered and the service stops, within 10 s. A " +
    "second signal skips the grace period in which it still accepts requests. Settings come from the environment (docs/configuration.md).",
  options: {
    role: text("ROLES", "accept, apply, read, or several separated by commas; ROLE (default: all)"),
    workers: text(
      "N",
      "threads that serve HTTP on one port; HTTP_THREADS (default: one per two cores, at most 4)",
    ),
    noSandbox: flag(
      "create no sandbox client, and revoke that of an earlier start; implied by NODE_ENV=production, DATABASE_URL and a HOST that other machines can reach",
    ),
  },
  examples: ["serve", "serve --role accept,read --workers 2"],
  run: async ({ role, workers, noSandbox }, { output, progress, session }) => {
    // The service has a log instead of progress.
    progress.end();
    const given = {
      ...session.environment,
      ...(role === undefined ? {} : { ROLE: role }),
      ...(workers === undefined ? {} : { HTTP_THREADS: workers }),
    };
    const config = readConfig(given, { sandbox: !noSandbox });
    const pretty = process.stdout.isTTY === true && !config.production;
    const logOptions = {
      level: config.logLevel,
      pretty,
      turns: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    };
    const log = createLogger(logOptions);
    // From here on a signal stops in an orderly way, even during the start.
    const stop = listenForStop(log);
    const starting = startService(config, log, logOptions, stop.signal).catch(async (error: unknown) => {
      if (!stop.signal.aborted) throw error;
      // The start may have failed for another reason.
      const err = error === stop.signal.reason ? undefined : error;
      log.info({ reason: await stop.first, err }, "stopped before the start had finished");
      return null;
    });
    const service = await Promise.race([starting, untilLate(stop.first)]);
    if (service === undefined) log.warn("the start did not stop in time; the next one takes over");
    if (service == null) return stop.exitCode();
    void service.failed.then(stop.failed);
    const { embedded, pool } = service.database;
    const client = await settleSandbox(service, config, log);
    log.info({ address: service.address, database: embedded ? "embedded" : "DATABASE_URL" }, "listening");
    // From now on the launcher restarts the process if it fails.
    process.send?.("listening");
    if (!config.production)
      output.line(welcome(service, config, client, await hasOperators(pool)).join("\n"));
    const late = untilLate(stop.first);
    log.info({ reason: await stop.first }, "draining");
    await leaveWithGrace(service, config.stopGraceMs, stop.again);
    const drained = service.stop().then(() => true);
    if (await Promise.race([drained, late])) log.info("stopped");
    else log.warn("the drain took too long; accepted batches are in the log");
    return stop.exitCode();
  },
});

export const command: Noun = { own };
