import { SAMPLERS } from "./platform/telemetry/telemetry-settings.ts";

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

const setting =
  (kind: Setting["kind"]) =>
  <Name extends string>(name: Name, fallback: string | undefined, meaning: string) => ({
    name,
    kind,
    fallback,
    meaning,
  });

const text = setting("text");
const whole = setting("whole number");
const yesOrNo = setting("yes or no");

const secret = <Name extends string>(name: Name, meaning: string) => ({
  ...text(name, undefined, meaning),
  isSecret: true as const,
});

export const SETTINGS = [
  whole("PORT", "8080", "TCP port of the service; 0 takes a free one."),
  text("HOST", "127.0.0.1", "Address the service listens on."),
  text("DATA_DIR", "./data", "Where the embedded PostgreSQL and local secrets live."),
  secret("DATABASE_URL", "PostgreSQL 15 or newer; without it the embedded one is started."),
  text(
    "NODE_ENV",
    "development",
    "`development` or `test`; whatever else it says is production: no sandbox client, and the log in JSON.",
  ),
  text(
    "BASE_URL",
    undefined,
    "Public address of the data endpoints, as documents name it; by default http://HOST:PORT.",
  ),
  text("AUTH_URL", undefined, "Public address of the token endpoint; by default BASE_URL."),
  whole("AUTH_PORT", undefined, "A second port for the token endpoint alone; the first then serves none."),
  text("LOG_LEVEL", "info", "fatal, error, warn, info, debug or silent."),
  secret(
    "KEY_ENCRYPTION_KEY",
    "32 bytes, base64: encrypts signing keys, peppers, webhook secrets and payload keys in the database.",
  ),
  secret(
    "KEY_ENCRYPTION_KEY_PREVIOUS",
    "Keys before it, divided by commas: they open what they encrypted until it is encrypted anew.",
  ),
  yesOrNo(
    "ENCRYPT_PAYLOADS",
    "no",
    "Encrypt the records of batches in the log with a payload key; needs KEY_ENCRYPTION_KEY.",
  ),
  whole(
    "PAYLOAD_KEY_ROTATION_DAYS",
    "90",
    "Days after which a new payload key encrypts new batches; 0: rotate by hand.",
  ),
  whole(
    "SIGNING_KEY_ROTATION_DAYS",
    "90",
    "Days after which a signing key is replaced, with the overlap of a rotation by hand; 0: rotate by hand.",
  ),
  yesOrNo(
    "ALLOW_UNSAFE_DURABILITY",
    "no",
    "Start although the database has fsync or full_page_writes off: only for storage that is durable without them.",
  ),
  whole(
    "MIN_FREE_DISK_MIB",
    "512",
    "Below this free space under DATA_DIR the embedded service answers 503 to new batches; below half of it, it applies nothing either.",
  ),
  whole("BODY_LIMIT_BYTES", String(16 * MIB), "Largest body on the wire."),
  whole("INFLATED_LIMIT_BYTES", String(64 * MIB), "Largest body after decompression."),
  whole(
    "BODIES_IN_FLIGHT_BYTES",
    String(128 * MIB),
    "Memory of all bodies being handled at once: the room made for them, a decompressor's and what is kept for the next ones; beyond it 503. One client gets half.",
  ),
  whole("RECORDS_PER_BATCH_MAX", "10000", "Most records in one batch."),
  whole("NESTING_DEPTH_MAX", "16", "Deepest nesting of a body, the array itself counted."),
  whole("HEADERS_TIMEOUT_MS", "10000", "Time for a request's headers to arrive."),
  whole("REQUEST_TIMEOUT_MS", "60000", "Time for a whole request to arrive."),
  whole(
    "KEEP_ALIVE_TIMEOUT_MS",
    "65000",
    "How long a connection is kept that is idle, or whose client does not read its answer.",
  ),
  whole("REQUEST_RATE", "50", "Requests a second of one client, unless the client has its own."),
  whole("REQUEST_BURST", "100", "Burst of one client's requests, unless the client has its own."),
  whole("TOKEN_BURST", "6", "Tokens a client may take at once; one comes back every 10 minutes."),
  yesOrNo(
    "TOKEN_STRICT_HOUR",
    "no",
    "At most TOKEN_BURST tokens in any rolling hour, instead of the bucket.",
  ),
  whole("NEW_PROPERTIES_PER_DAY", "1000", "New properties one client may bring in 24 hours."),
  whole(
    "HTTP_THREADS",
    undefined,
    "Threads that serve HTTP, all on one port; by default one for two cores, 4 at most.",
  ),
  whole(
    "ACCEPT_WRITERS",
    "1",
    "Connections (log writers) of each of these threads that append accepted batches; 16 at most.",
  ),
  text(
    "ROLE",
    "accept,apply,read",
    "What the node is for: `accept` batches (and issue tokens), `apply` what any node accepted, answer who wants to `read`.",
  ),
  whole(
    "APPLY_WRITERS",
    undefined,
    "Threads that apply, each with a connection, and share the buckets out; by default one a core, 2 at most.",
  ),
  whole("APPLY_POLL_MS", "250", "How often to poll the log for batches that other nodes accepted."),
  whole(
    "STOP_GRACE_MS",
    undefined,
    "How long a stopping node still answers while /readyz says 503, 3000 at most; by default 2000 in production, else 0.",
  ),
  text(
    "WEBHOOK_ALLOWED_NETWORKS",
    undefined,
    "Networks, such as `10.1.0.0/16,fd00:1::/48`, to which webhooks may go although they are not public, also over plain http; by default loopback in a sandbox, else none.",
  ),
  whole(
    "WEBHOOK_PAUSE_HOURS",
    "72",
    "Hours without a successful delivery after which a webhook endpoint is paused.",
  ),
  text(
    "CONSOLE_OIDC_ISSUER",
    undefined,
    "Issuer of the OpenID Connect provider with which operators log in to the console, as its documents name it.",
  ),
  text(
    "CONSOLE_OIDC_CLIENT_ID",
    undefined,
    "What the provider calls the console; its redirect URI there is BASE_URL/console/api/oidc/callback.",
  ),
  secret(
    "CONSOLE_OIDC_CLIENT_SECRET",
    "The secret that the provider gave the console; without it the console is a public client (PKCE).",
  ),
  text(
    "TRUSTED_PROXIES",
    undefined,
    "Networks of the proxies in front, such as `10.1.0.0/16`: the client's address is then the last one in X-Forwarded-For that is none of theirs. Without it the header is ignored.",
  ),
  text(
    "RETENTION_WINDOW",
    "7d",
    "How long the windows of time are (minutes, hours or days: 30m, 12h, 7d) in which the log, outcomes and versions are kept and go; 1m to 31d.",
  ),
  whole(
    "SLOW_REQUEST_MS",
    "1000",
    "Requests that take longer (not counting Prefer: wait) are logged with what they waited for; 0: none.",
  ),
  whole("SLOW_QUERY_MS", "1000", "Statements that take the database longer are logged by name; 0: none."),
  secret("METRICS_TOKEN", "When set, /metrics asks for this bearer token."),
  text(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    undefined,
    "Address of an OpenTelemetry collector that takes OTLP/HTTP, such as `http://127.0.0.1:4318`: traces and metrics are sent there. Without it none are.",
  ),
  secret(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "Headers for the collector, `name=value,name=value`, values percent-encoded.",
  ),
  text("OTEL_SERVICE_NAME", "bellhop", "What this service is called in traces and metrics."),
  text(
    "OTEL_RESOURCE_ATTRIBUTES",
    undefined,
    "What else is said of it there, `name=value,name=value`, values percent-encoded.",
  ),
  text(
    "OTEL_TRACES_SAMPLER",
    "parentbased_traceidratio",
    `Which traces are sent: ${SAMPLERS.join(", ")}. By default one in ten, and every trace whose caller is sampled.`,
  ),
  text("OTEL_TRACES_SAMPLER_ARG", "0.1", "The share of traces that a sampler by ratio sends, 0 to 1."),
  whole(
    "OTEL_METRIC_EXPORT_INTERVAL",
    "60000",
    "Milliseconds between two sendings of metrics; 0: none are sent (they are at /metrics, too).",
  ),
] satisfies readonly Setting[];

export type SettingName = (typeof SETTINGS)[number]["name"];
