import { availableParallelism, totalmem } from "node:os";
import type { Config } from "../../config.ts";
import { isLoopback } from "../../platform/http/networks.ts";
import { sizeText } from "../../platform/runtime/amounts.ts";
import { type Check, error, type Finding, ok, warning } from "./finding.ts";

function isBeyondLoopback(hostOrAddress: string): boolean {
  const host = URL.canParse(hostOrAddress) ? new URL(hostOrAddress).hostname : hostOrAddress;
  return !isLoopback(host);
}

function environmentFinding(config: Config): Finding {
  const id = "settings.environment";
  if (config.production) return ok(id, "NODE_ENV is production.");
  if (config.databaseUrl === undefined && !isBeyondLoopback(config.host))
    return ok(id, "The service is only for this machine and has the sandbox client.");
  return warning(
    id,
    "NODE_ENV is not production, but other machines can reach this service or its database.",
    "A stopping node refuses requests before the load balancer removes it, and checks are those for a laptop.",
    "Set NODE_ENV=production.",
  );
}

function addressFindings({ production, baseUrl, authUrl }: Config): Finding[] {
  const id = "settings.addresses";
  if (!production) return [];
  if (baseUrl === undefined)
    return [
      warning(
        id,
        "BASE_URL is not set.",
        "Documents show http://HOST:PORT, and the first start makes it the permanent issuer of tokens (docs/decisions/0002-token-issuer.md).",
        "Set BASE_URL, and AUTH_URL if it differs, to the https addresses that partners use.",
      ),
    ];
  const plain = [
    ["BASE_URL", baseUrl],
    ["AUTH_URL", authUrl ?? baseUrl],
  ].filter(([, address = ""]) => address.startsWith("http:") && isBeyondLoopback(address));
  if (plain.length === 0) return [ok(id, `Partners reach it at ${baseUrl}.`)];
  return [
    error(
      id,
      `${plain.map(([name]) => name).join(" and ")} begins with http://.`,
      "Secrets, tokens and guests' data cross the network unencrypted, and nobody can log in to the console.",
      "Put a TLS proxy in front of the service (docs/deployment.md) and set the https address.",
    ),
  ];
}

const MIB = 1_048_576;
/** Measured under full load (docs/internal/measurements.md): memory per process without bodies, and per thread. */
const PROCESS_BYTES = 120 * MIB;
const THREAD_BYTES = 45 * MIB;
const EMBEDDED_POSTGRES_BYTES = 400 * MIB;

/** Memory in bytes that a service with this configuration uses under full load. */
function memoryWanted(config: Config): number {
  const threads =
    (config.roles.includes("apply") ? config.applyWriters : 0) +
    (config.httpThreads > 1 ? config.httpThreads : 0);
  const embedded = config.databaseUrl === undefined ? EMBEDDED_POSTGRES_BYTES : 0;
  return PROCESS_BYTES + threads * THREAD_BYTES + config.limits.bodiesInFlightBytesMax + embedded;
}

function memoryFinding(config: Config): Finding {
  const limit = process.constrainedMemory();
  const available = limit > 0 && limit < totalmem() ? limit : totalmem();
  const [wanted, has] = [memoryWanted(config), sizeText(available)];
  if (wanted <= available)
    return ok("settings.memory", `Full load needs about ${sizeText(wanted)} of ${has}.`);
  return warning(
    "settings.memory",
    `Full load needs about ${sizeText(wanted)}; available: ${has}.`,
    "The kernel kills the service under load. Accepted batches are safe, but the service is unavailable until it has restarted.",
    "Give it more memory, or lower BODIES_IN_FLIGHT_BYTES, HTTP_THREADS or APPLY_WRITERS.",
  );
}

function* dangers(config: Config): Iterable<Finding> {
  const { inflatedBytesMax, bodiesInFlightBytesMax, bodyBytesMax } = config.limits;
  const cores = availableParallelism();
  if (config.keyEncryptionKey === undefined && config.production)
    yield warning(
      "settings.key-encryption",
      "KEY_ENCRYPTION_KEY is not set.",
      "Anyone who reads the database or a backup can sign tokens for every client.",
      "Set it (openssl rand -base64 32), keep it apart from backups, and restart the service.",
    );
  if (config.metricsToken === undefined && isBeyondLoopback(config.host))
    yield warning(
      "settings.metrics",
      "METRICS_TOKEN is not set, and other machines can reach HOST.",
      "Anyone who can reach /metrics can read traffic and failures.",
      "Set METRICS_TOKEN, or block /metrics in the proxy.",
    );
  if (config.allowUnsafeDurability)
    yield warning(
      "settings.durability",
      "ALLOW_UNSAFE_DURABILITY is yes.",
      "The service starts on a database that may lose accepted batches.",
      "Set it to no, unless the storage is durable without it.",
    );
  if (config.databaseUrl === undefined && config.minFreeDiskBytes === 0)
    yield warning(
      "settings.disk-floor",
      "MIN_FREE_DISK_MIB is 0.",
      "Batches are accepted until PostgreSQL cannot write WAL and stops.",
      "Leave it at its default of 512.",
    );
  if (inflatedBytesMax + bodyBytesMax > bodiesInFlightBytesMax)
    yield warning(
      "settings.body-limits",
      `The largest body (${sizeText(bodyBytesMax)}, ${sizeText(inflatedBytesMax)} decompressed) exceeds the memory for all bodies (${sizeText(bodiesInFlightBytesMax)}).`,
      "A body within the limits is always answered 503.",
      "Raise BODIES_IN_FLIGHT_BYTES, or lower INFLATED_LIMIT_BYTES.",
    );
  if (config.httpThreads > 2 * cores)
    yield warning(
      "settings.threads",
      `HTTP_THREADS is ${config.httpThreads} on ${cores} cores.`,
      "Each thread needs memory and connections; more threads than cores are no faster.",
      "Set it to at most the number of cores, or unset it.",
    );
}

/** Checks of individual settings and of incompatible combinations. */
export const settings = {
  name: "settings",
  run: (config: Config) => [
    environmentFinding(config),
    ...addressFindings(config),
    ...(config.keyEncryptionKey === undefined
      ? []
      : [ok("settings.key-encryption", "KEY_ENCRYPTION_KEY is set.")]),
    memoryFinding(config),
    ...dangers(config),
  ],
} satisfies Check<Config>;
