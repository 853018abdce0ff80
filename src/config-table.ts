import { TELEMETRY_SETTINGS } from "./platform/telemetry/telemetry-settings.ts";

/** A setting of a service, as the environment names it. `docs/configuration.md` is the table for people; a test holds it to SETTINGS. */
export interface Setting {
  readonly name: string;
  readonly kind: "text" | "whole number" | "yes or no";
  readonly fallback: string | undefined;
  readonly meaning: string;
  /** Its value may lie in a file that NAME_FILE names instead: an environment is seen by more than is a file. */
  readonly isSecret?: true;
}

const MIB = 1_048_576;

export const SETTINGS = [
  {
    name: "PORT",
    kind: "whole number",
    fallback: "8080",
    meaning: "TCP port of the service; 0 takes a free one.",
  },
  { name: "HOST", kind: "text", fallback: "127.0.0.1", meaning: "Address the service listens on." },
  {
    name: "DATA_DIR",
    kind: "text",
    fallback: "./data",
    meaning: "Where the embedded PostgreSQL and local secrets live.",
  },
  {
    name: "DATABASE_URL",
    kind: "text",
    fallback: undefined,
    meaning: "PostgreSQL 15 or newer; without it the embedded one is started.",
    isSecret: true,
  },
  {
    name: "NODE_ENV",
    kind: "text",
    fallback: "development",
    meaning:
      "`development` or `test`; whatever else it says is production: no sandbox client, and the log in JSON.",
  },
  {
    name: "BASE_URL",
    kind: "text",
    fallback: undefined,
    meaning: "Public address of the data endpoints, as documents name it; by default http://HOST:PORT.",
  },
  {
    name: "AUTH_URL",
    kind: "text",
    fallback: undefined,
    meaning: "Public address of the token endpoint; by default BASE_URL.",
  },
  {
    name: "AUTH_PORT",
    kind: "whole number",
    fallback: undefined,
    meaning: "A second port for the token endpoint alone; the first then serves none.",
  },
  {
    name: "LOG_LEVEL",
    kind: "text",
    fallback: "info",
    meaning: "fatal, error, warn, info, debug or silent.",
  },
  {
    name: "KEY_ENCRYPTION_KEY",
    kind: "text",
    fallback: undefined,
    meaning:
      "32 bytes, base64: encrypts signing keys, peppers, webhook secrets and payload keys in the database.",
    isSecret: true,
  },
  {
    name: "KEY_ENCRYPTION_KEY_PREVIOUS",
    kind: "text",
    fallback: undefined,
    meaning: "Keys before it, divided by commas: they open what they encrypted until it is encrypted anew.",
    isSecret: true,
  },
  {
    name: "ENCRYPT_PAYLOADS",
    kind: "yes or no",
    fallback: "no",
    meaning: "Seal the records of batches in the log with a payload key; needs KEY_ENCRYPTION_KEY.",
  },
  {
    name: "PAYLOAD_KEY_ROTATION_DAYS",
    kind: "whole number",
    fallback: "90",
    meaning: "A payload key so old is replaced for what comes from then on; 0: by hand.",
  },
  {
    name: "SIGNING_KEY_ROTATION_DAYS",
    kind: "whole number",
    fallback: "90",
    meaning: "A signing key so old is replaced, with the overlap of a rotation by hand; 0: by hand.",
  },
  {
    name: "ALLOW_UNSAFE_DURABILITY",
    kind: "yes or no",
    fallback: "no",
    meaning: "Start although the database has fsync or full_page_writes off (storage durable by itself).",
  },
  {
    name: "MIN_FREE_DISK_MIB",
    kind: "whole number",
    fallback: "512",
    meaning:
      "Below this free space under DATA_DIR the embedded service answers 503 to new batches; below half of it, it applies nothing either.",
  },
  {
    name: "BODY_LIMIT_BYTES",
    kind: "whole number",
    fallback: String(16 * MIB),
    meaning: "Largest body on the wire.",
  },
  {
    name: "INFLATED_LIMIT_BYTES",
    kind: "whole number",
    fallback: String(64 * MIB),
    meaning: "Largest body after decompression.",
  },
  {
    name: "BODIES_IN_FLIGHT_BYTES",
    kind: "whole number",
    fallback: String(128 * MIB),
    meaning:
      "Memory of all bodies being handled at once: the room made for them, a decompressor's and what is kept for the next ones; beyond it 503. One client gets half.",
  },
  {
    name: "RECORDS_PER_BATCH_MAX",
    kind: "whole number",
    fallback: "10000",
    meaning: "Most records in one batch.",
  },
  {
    name: "NESTING_DEPTH_MAX",
    kind: "whole number",
    fallback: "16",
    meaning: "Deepest nesting of a body, the array itself counted.",
  },
  {
    name: "HEADERS_TIMEOUT_MS",
    kind: "whole number",
    fallback: "10000",
    meaning: "Time for a request's headers to arrive.",
  },
  {
    name: "REQUEST_TIMEOUT_MS",
    kind: "whole number",
    fallback: "60000",
    meaning: "Time for a whole request to arrive.",
  },
  {
    name: "KEEP_ALIVE_TIMEOUT_MS",
    kind: "whole number",
    fallback: "65000",
    meaning: "How long an idle connection is kept.",
  },
  {
    name: "REQUEST_RATE",
    kind: "whole number",
    fallback: "50",
    meaning: "Requests a second of one client, unless the client has its own.",
  },
  {
    name: "REQUEST_BURST",
    kind: "whole number",
    fallback: "100",
    meaning: "Burst of one client's requests, unless the client has its own.",
  },
  {
    name: "TOKEN_BURST",
    kind: "whole number",
    fallback: "6",
    meaning: "Tokens a client may take at once; one comes back every 10 minutes.",
  },
  {
    name: "TOKEN_STRICT_HOUR",
    kind: "yes or no",
    fallback: "no",
    meaning: "At most TOKEN_BURST tokens in any rolling hour, instead of the bucket.",
  },
  {
    name: "NEW_PROPERTIES_PER_DAY",
    kind: "whole number",
    fallback: "1000",
    meaning: "New properties one client may bring in 24 hours.",
  },
  {
    name: "HTTP_THREADS",
    kind: "whole number",
    fallback: undefined,
    meaning: "Threads that serve HTTP, all on one port; by default one a core, 4 at most.",
  },
  {
    name: "ACCEPT_WRITERS",
    kind: "whole number",
    fallback: "1",
    meaning: "Connections (log writers) of each of these threads that append accepted batches; 16 at most.",
  },
  {
    name: "ROLE",
    kind: "text",
    fallback: "accept,apply,read",
    meaning:
      "What the node is for: `accept` batches (and issue tokens), `apply` what any node accepted, answer who wants to `read`.",
  },
  {
    name: "APPLY_WRITERS",
    kind: "whole number",
    fallback: undefined,
    meaning:
      "Threads that apply, each with a connection, and share the buckets out; by default one a core, 2 at most.",
  },
  {
    name: "APPLY_POLL_MS",
    kind: "whole number",
    fallback: "250",
    meaning: "How often the log is looked at for batches that other nodes accepted.",
  },
  {
    name: "STOP_GRACE_MS",
    kind: "whole number",
    fallback: undefined,
    meaning:
      "How long a node that was told to stop still answers while /readyz says 503, 3000 at most; by default 2000 in production, else 0.",
  },
  {
    name: "WEBHOOK_ALLOWED_NETWORKS",
    kind: "text",
    fallback: undefined,
    meaning:
      "Networks, such as `10.1.0.0/16,fd00:1::/48`, to which webhooks may go although they are not public, also over plain http.",
  },
  {
    name: "WEBHOOK_PAUSE_HOURS",
    kind: "whole number",
    fallback: "72",
    meaning: "A webhook endpoint none of whose tries was good for so long is paused.",
  },
  {
    name: "TRUSTED_PROXIES",
    kind: "text",
    fallback: undefined,
    meaning:
      "Networks of the proxies in front, such as `10.1.0.0/16`: the client's address is then the last one in X-Forwarded-For that is none of theirs. Without it the header is not looked at.",
  },
  {
    name: "RETENTION_WINDOW",
    kind: "text",
    fallback: "7d",
    meaning:
      "How long the windows of time are (minutes, hours or days: 30m, 12h, 7d) in which the log, outcomes and versions are kept and go; 1m to 31d.",
  },
  {
    name: "SLOW_REQUEST_MS",
    kind: "whole number",
    fallback: "1000",
    meaning:
      "A request that takes longer, less what it asked to wait for, is told in the log with what it waited for; 0: none is.",
  },
  {
    name: "SLOW_QUERY_MS",
    kind: "whole number",
    fallback: "1000",
    meaning: "A statement that takes the database longer is told in the log by its name; 0: none is.",
  },
  {
    name: "METRICS_TOKEN",
    kind: "text",
    fallback: undefined,
    meaning: "When set, /metrics asks for this bearer token.",
    isSecret: true,
  },
  ...TELEMETRY_SETTINGS,
] as const satisfies readonly Setting[];

export type SettingName = (typeof SETTINGS)[number]["name"];
