import { availableParallelism, totalmem } from "node:os";
import { sizeText } from "../../../cli/amounts.ts";
import type { Config } from "../../../config.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";

const LOOPBACK = /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/;

/** Whether others than this machine can reach what listens on a host or is named by an address. */
function isBeyondLoopback(hostOrAddress: string): boolean {
  const host = URL.canParse(hostOrAddress) ? new URL(hostOrAddress).hostname : hostOrAddress;
  return !LOOPBACK.test(host);
}

function environmentFindings(config: Config): Finding[] {
  const isShared = config.databaseUrl !== undefined || isBeyondLoopback(config.host);
  if (config.production) return [fine("settings.environment", "NODE_ENV says that this is production.")];
  if (!isShared)
    return [fine("settings.environment", "A service for this machine alone, with the sandbox client.")];
  return [
    trouble("warn", "settings.environment", {
      says: "NODE_ENV is not production, yet others can reach this service or its database.",
      means:
        "A node that stops refuses requests at once instead of leaving its balancer first, and checks are those of a laptop.",
      advice: "Set NODE_ENV=production.",
    }),
  ];
}

/** The addresses that documents and tokens name. */
function addressFindings({ production, baseUrl, authUrl }: Config): Finding[] {
  if (!production) return [];
  if (baseUrl === undefined)
    return [
      trouble("warn", "settings.addresses", {
        says: "BASE_URL is not set.",
        means:
          "Documents name http://HOST:PORT, and the first start makes that the issuer of every token for good (docs/decisions/0002-issuer.md).",
        advice: "Set BASE_URL, and AUTH_URL where it differs, to the https addresses that partners use.",
      }),
    ];
  const plain = [
    ["BASE_URL", baseUrl],
    ["AUTH_URL", authUrl ?? baseUrl],
  ].filter(([, address = ""]) => address.startsWith("http:") && isBeyondLoopback(address));
  if (plain.length === 0) return [fine("settings.addresses", `Partners reach it at ${baseUrl}.`)];
  return [
    trouble("fail", "settings.addresses", {
      says: `${plain.map(([name]) => name).join(" and ")} begins with http://.`,
      means:
        "Secrets, tokens and guests' data cross the network readable, and nobody can log in to the console.",
      advice: "Put a proxy with TLS in front (docs/deployment.md) and set the https address.",
    }),
  ];
}

function secretFindings(config: Config): Finding[] {
  const findings: Finding[] = [];
  if (config.keyEncryptionKey !== undefined)
    findings.push(fine("settings.key-encryption", "KEY_ENCRYPTION_KEY is set."));
  else if (config.production)
    findings.push(
      trouble("warn", "settings.key-encryption", {
        says: "KEY_ENCRYPTION_KEY is not set.",
        means: "Whoever reads the database or a backup of it can sign tokens in the name of every client.",
        advice: "Set it (openssl rand -base64 32), keep it apart from backups, and start the service again.",
      }),
    );
  if (config.metricsToken === undefined && isBeyondLoopback(config.host))
    findings.push(
      trouble("warn", "settings.metrics", {
        says: "METRICS_TOKEN is not set, and HOST can be reached by others.",
        means: "Whoever reaches /metrics reads how much is sent and what fails.",
        advice: "Set METRICS_TOKEN, or keep /metrics from outsiders in the proxy.",
      }),
    );
  return findings;
}

function safetyFindings(config: Config): Finding[] {
  const findings: Finding[] = [];
  if (config.allowUnsafeDurability)
    findings.push(
      trouble("warn", "settings.durability", {
        says: "ALLOW_UNSAFE_DURABILITY is yes.",
        means: "The service starts on a database that may lose what it has answered 202.",
        advice: "Set it to no, unless the storage is durable by itself.",
      }),
    );
  if (config.databaseUrl === undefined && config.minFreeDiskBytes === 0)
    findings.push(
      trouble("warn", "settings.disk-floor", {
        says: "MIN_FREE_DISK_MIB is 0.",
        means: "Batches are taken until PostgreSQL cannot write its log, and panics.",
        advice: "Leave it at its default of 512.",
      }),
    );
  const { inflatedBytesMax, bodiesInFlightBytesMax, bodyBytesMax } = config.limits;
  if (inflatedBytesMax + bodyBytesMax > bodiesInFlightBytesMax)
    findings.push(
      trouble("warn", "settings.body-limits", {
        says: `The largest body (${sizeText(bodyBytesMax)}, and ${sizeText(inflatedBytesMax)} inflated) is more than all bodies may have at once (${sizeText(bodiesInFlightBytesMax)}).`,
        means: "A body that the limits allow is answered 503 for ever.",
        advice: "Raise BODIES_IN_FLIGHT_BYTES, or lower INFLATED_LIMIT_BYTES.",
      }),
    );
  return findings;
}

const MIB = 1_048_576;
/** Measured under full load (docs/measurements.md): what a process holds beside its bodies, and each of its threads. */
const PROCESS_BYTES = 120 * MIB;
const THREAD_BYTES = 45 * MIB;
const EMBEDDED_POSTGRES_BYTES = 400 * MIB;

/** Memory that a service of this configuration holds under full load, in bytes. */
function memoryWanted(config: Config): number {
  const threads =
    (config.roles.includes("apply") ? config.applyWriters : 0) +
    (config.httpThreads > 1 ? config.httpThreads : 0);
  const embedded = config.databaseUrl === undefined ? EMBEDDED_POSTGRES_BYTES : 0;
  return PROCESS_BYTES + threads * THREAD_BYTES + config.limits.bodiesInFlightBytesMax + embedded;
}

/** What this process may have: the container's limit, else the machine's memory, in bytes. */
function memoryThere(): number {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

function capacityFindings(config: Config): Finding[] {
  const wanted = memoryWanted(config);
  const there = memoryThere();
  const cores = availableParallelism();
  const findings = [
    wanted <= there
      ? fine("settings.memory", `About ${sizeText(wanted)} under full load, of ${sizeText(there)}.`)
      : trouble("warn", "settings.memory", {
          says: `About ${sizeText(wanted)} are wanted under full load, and there are ${sizeText(there)}.`,
          means:
            "The kernel kills the service under load; nothing accepted is lost, but it is away until it has started again.",
          advice: "Give it more memory, or lower BODIES_IN_FLIGHT_BYTES, HTTP_THREADS or APPLY_WRITERS.",
        }),
  ];
  if (config.httpThreads > 2 * cores)
    findings.push(
      trouble("warn", "settings.threads", {
        says: `HTTP_THREADS is ${config.httpThreads} on ${cores} cores.`,
        means: "Each thread costs memory and connections, and more than cores serve no faster.",
        advice: "Set it to the number of cores, or leave it out.",
      }),
    );
  return findings;
}

/** What the settings say, and what goes badly together. */
export const settings: Check<Config> = {
  name: "settings",
  run: (config) => [
    ...environmentFindings(config),
    ...addressFindings(config),
    ...secretFindings(config),
    ...safetyFindings(config),
    ...capacityFindings(config),
  ],
};
