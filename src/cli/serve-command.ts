import { parseArgs } from "node:util";
import { hasOperators } from "../auth/operator-admin.ts";
import { type Config, readConfig, SANDBOX_CLIENT_CODE } from "../config.ts";
import { allocateTurns, createLogger, type Logger } from "../observe/log.ts";
import { type Service, startService } from "../service.ts";
import { closeSandbox, openSandbox } from "./sandbox.ts";

const HELP = `bellhop serve [--role accept,apply,read] [--workers N] [--no-sandbox]

Runs the service until SIGTERM, SIGINT or SIGHUP; then /readyz says 503, what is in flight is answered, and it stops (10 s
at most; a second signal spares the grace in which it still takes requests).

  --role ROLES   what this node is for, as ROLE: accept, apply, read, or several with commas; by default all
  --workers N    threads that serve HTTP on one port, as HTTP_THREADS; by default one a core, 4 at most
  --no-sandbox   make no sandbox client, and revoke one of an earlier start; production, DATABASE_URL and a HOST
                 that others can reach imply it

Settings come from the environment: docs/configuration.md.
`;

/** A drain must be over within 10 s; what is not is given up, and nothing accepted is lost by that. */
const DRAIN_MS_MAX = 9_500;

/** The lines that lead to the first 202 and into the console, for whoever started the service on a laptop. */
function welcome(
  service: Service,
  config: Config,
  client: { clientId: string; clientSecret: string } | undefined,
  hasOperator: boolean,
): string {
  const base = config.baseUrl ?? service.address;
  const auth = config.authUrl ?? config.baseUrl ?? service.authAddress;
  const lines = [
    ``,
    `Bellhop listens on ${service.address}   Documentation: ${base}/docs   Console: ${base}/console`,
    ...(hasOperator ? [] : [`Nobody can log in to the console yet: npm run -s bellhop operator create NAME`]),
  ];
  if (client === undefined) return [...lines, ``].join("\n");
  const record = {
    clientCode: SANDBOX_CLIENT_CODE,
    propertyCode: "LON01",
    createDateTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    occupancyDate: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  };
  return [
    ...lines,
    ``,
    `Sandbox client   id ${client.clientId}   secret ${client.clientSecret}   may push ${SANDBOX_CLIENT_CODE}/*`,
    ``,
    `Paste this for a token, a first 202 and what became of it:`,
    ``,
    `  TOKEN=$(curl -s ${auth}/api/oauth2/token -d grant_type=client_credentials -d client_id=${client.clientId} -d client_secret=${client.clientSecret} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  REQUEST=$(curl -s ${base}/api/public/v1/inventories -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Accept: text/plain' -d '[${JSON.stringify(record)}]'); echo "$REQUEST"`,
    `  curl -s ${base}/api/public/v1/requests/$REQUEST -H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=5'; echo`,
    ``,
  ].join("\n");
}

/** Waits for a signal to stop, or for the launcher's end: a service nobody can stop any more stops itself. */
function untilToldToStop(): Promise<{ reason: string; again: Promise<void> }> {
  const again = Promise.withResolvers<void>();
  return new Promise((resolve) => {
    let isTold = false;
    const told = (reason: string) => {
      if (isTold) again.resolve();
      isTold = true;
      resolve({ reason, again: again.promise });
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => told(signal));
    if (process.connected) process.once("disconnect", () => told("the end of its launcher"));
  });
}

/** Leaves the node in its place until balancers have heard that it goes; a failed one goes at once. */
async function leaveWithGrace(service: Service, graceMs: number, again: Promise<void>): Promise<void> {
  service.leave();
  await Promise.race([new Promise((resolve) => setTimeout(resolve, graceMs)), again, service.failed]);
}

async function settleSandbox(service: Service, config: Config, log: Logger) {
  const { internals } = service.authenticator;
  if (config.sandbox) return await openSandbox(internals, config.dataDir);
  const clientId = await closeSandbox(internals, config.dataDir);
  if (clientId !== undefined) log.warn({ clientId }, "the sandbox client of an earlier start was revoked");
  return undefined;
}

/** `bellhop serve …`: runs the service until it is told to stop; answers the exit code. */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "no-sandbox": { type: "boolean" },
      role: { type: "string" },
      workers: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const given = {
    ...environment,
    ...(values.role === undefined ? {} : { ROLE: values.role }),
    ...(values.workers === undefined ? {} : { HTTP_THREADS: values.workers }),
  };
  const config = readConfig(given, { sandbox: values["no-sandbox"] !== true });
  const pretty = process.stdout.isTTY === true && !config.production;
  const logOptions = { level: config.logLevel, pretty, turns: allocateTurns() };
  const log = createLogger(logOptions);
  // From here on a signal is an orderly stop, also while the service is still starting.
  const told = untilToldToStop();
  const service = await startService(config, log, logOptions);
  const { embedded } = service.database;
  const client = await settleSandbox(service, config, log);
  log.info({ address: service.address, database: embedded ? "embedded" : "DATABASE_URL" }, "listening");
  if (!config.production) {
    const hasOperator = await hasOperators(service.database.pool);
    process.stdout.write(`${welcome(service, config, client, hasOperator)}\n`);
  }
  const failure = await Promise.race([told, service.failed]);
  const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), DRAIN_MS_MAX).unref());
  if (failure instanceof Error)
    log.fatal({ err: failure }, "a thread failed: stopping, the next start recovers");
  else {
    log.info({ reason: failure.reason }, "draining");
    await leaveWithGrace(service, config.stopGraceMs, failure.again);
  }
  const drained = service.stop().then(() => true);
  if (!(await Promise.race([drained, late])))
    log.warn("the drain took too long; what was accepted is in the log");
  else log.info("stopped");
  return failure instanceof Error ? 1 : 0;
}
