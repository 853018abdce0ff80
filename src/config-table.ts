import { SAMPLERS } from "./platform/telemetry/telemetry-settings.ts";

/** A setting in the environment. `docs/configuration.md` documents them; a test compares it with SETTINGS. */
export interface Setting {
  readonly name: string;
  readonly kind: "text" | "whole number" | "yes or no";
  readonly fallback: string | undefined;
  readonly meaning: string;
  /** The value may be in a file named by NAME_FILE, because more processes can read environment variables than files. */
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
    "`development` or `test`; any other value means production: no sandbox client, and a JSON log.",
  ),
  text(
    "BASE_URL",
    undefined,
    "Public address of the data endpoints, shown in the documentation; by default http://HOST:PORT.",
  ),
  text("AUTH_URL", undefined, "Public address of the token endpoint; by default BASE_URL."),
  whole("AUTH_PORT", undefined, "Separate port for the token endpoint; PORT then does not serve it."),
  text("LOG_LEVEL", "info", "fatal, error, warn, info, debug or silent."),
  secret(
    "KEY_ENCRYPTION_KEY",
    "32 bytes, base64: encrypts signing keys, peppers, webhook secrets, payload keys, operators' TOTP secrets and the cursor key in the database.",
  ),
  secret(
    "KEY_ENCRYPTION_KEY_PREVIOUS",
    "Former keys, separated by commas: they decrypt stored values until these are re-encrypted.",
  ),
  yesOrNo(
    "ENCRYPT_PAYLOADS",
    "no",
    "Encrypt the records of batches in the log with a payload key; needs KEY_ENCRYPTION_KEY.",
  ),
  whole(
    "PAYLOAD_KEY_ROTATION_DAYS",
    "90",
    "Days after which a new payload key encrypts new batches; 0: rotate manually.",
  ),
  whole(
    "SIGNING_KEY_ROTATION_DAYS",
    "90",
    "Days after which a signing key is replaced, with the overlap of a manual rotation; 0: rotate manually.",
  ),
  yesOrNo(
    "ALLOW_UNSAFE_DURABILITY",
    "no",
    "Start although the database has fsync or full_page_writes off: only for storage that is durable without them.",
  ),
  whole(
    "MIN_FREE_DISK_MIB",
    "512",
    "With the embedded server: with less free space under DATA_DIR, new batches are answered 503; with less than half of it, nothing is applied either.",
  ),
  whole("BODY_LIMIT_BYTES", String(16 * MIB), "Largest body on the wire."),
  whole("INFLATED_LIMIT_BYTES", String(64 * MIB), "Largest body after decompression."),
  whole(
    "BODIES_IN_FLIGHT_BYTES",
    String(128 * MIB),
    "Memory for all request bodies in progress, including decompression buffers and buffers kept for reuse; above it 503. Large bodies leave an eighth to small ones, small ones leave half to large ones, and a client holds at most as much as it leaves free.",
  ),
  whole("RECORDS_PER_BATCH_MAX", "10000", "Maximum number of records in one batch."),
  whole("NESTING_DEPTH_MAX", "16", "Maximum nesting depth of a body, the array included."),
  whole("HEADERS_TIMEOUT_MS", "10000", "Time for a request's headers to arrive."),
  whole("REQUEST_TIMEOUT_MS", "60000", "Time for a whole request to arrive."),
  whole(
    "KEEP_ALIVE_TIMEOUT_MS",
    "65000",
    "How long an idle connection is kept. A client that reads nothing of its response is cut off after one to two times as long, at least 30 s.",
  ),
  whole("REQUEST_RATE", "50", "Requests per second of one client, unless the client has its own rate."),
  whole("REQUEST_BURST", "100", "Burst of one client's requests, unless the client has its own burst."),
  whole("TOKEN_BURST", "6", "Tokens that a client may request at once; one more every 10 minutes."),
  yesOrNo(
    "TOKEN_STRICT_HOUR",
    "no",
    "At most TOKEN_BURST tokens in any rolling hour, instead of the bucket.",
  ),
  whole(
    "NEW_PROPERTIES_PER_DAY",
    "1000",
    "New properties that one client may name in 24 hours; all clients of a client code ten times as many.",
  ),
  whole(
    "HTTP_THREADS",
    undefined,
    "Threads that serve HTTP, all on one port; by default one per two cores, at most 4.",
  ),
  whole(
    "ACCEPT_WRITERS",
    "1",
    "Connections (log writers) of each of these threads that append accepted batches; at most 16.",
  ),
  text(
    "ROLE",
    "accept,apply,read",
    "Roles of this node: `accept` receives batches and issues tokens, `apply` applies accepted batches, `read` answers queries.",
  ),
  whole(
    "APPLY_WRITERS",
    undefined,
    "Threads that apply batches; they divide the buckets among themselves. By default one per core, at most 2.",
  ),
  whole("APPLY_POLL_MS", "250", "Interval at which the log is polled for batches that other nodes accepted."),
  whole(
    "STOP_GRACE_MS",
    undefined,
    "How long a stopping node still accepts requests while /readyz is 503, at most 3000; by default 2000 in production, otherwise 0.",
  ),
  text(
    "WEBHOOK_ALLOWED_NETWORKS",
    undefined,
    "Non-public networks, such as `10.1.0.0/16,fd00:1::/48`, that may receive webhooks, also over plain http; by default loopback with a sandbox client, otherwise none.",
  ),
  whole(
    "WEBHOOK_PAUSE_HOURS",
    "72",
    "Hours without a successful delivery after which a webhook endpoint is paused.",
  ),
  text(
    "CONSOLE_OIDC_ISSUER",
    undefined,
    "Issuer URL of the OpenID Connect provider with which operators log in to the console.",
  ),
  text(
    "CONSOLE_OIDC_CLIENT_ID",
    undefined,
    "Client id of the console at the provider; its redirect URI is BASE_URL/console/api/oidc/callback.",
  ),
  secret(
    "CONSOLE_OIDC_CLIENT_SECRET",
    "Client secret of the console at the provider; without it the console is a public client (PKCE).",
  ),
  secret(
    "SMTP_URL",
    "Mail server that sends reports and alerts to operators, such as `smtps://user:password@smtp.example:465` or `smtp://smtp.example:587` (STARTTLS). Without it they are kept in the console.",
  ),
  text(
    "SMTP_FROM",
    undefined,
    "Sender of these e-mails, such as `Bellhop <bellhop@hotels.example>`; required with SMTP_URL.",
  ),
  text(
    "TRUSTED_PROXIES",
    undefined,
    "Networks of the proxies in front, such as `10.1.0.0/16`: the client's address is then the last one in X-Forwarded-For outside them. Without it the header is ignored.",
  ),
  text(
    "RETENTION_WINDOW",
    "7d",
    "Length of the time partitions that retention deletes as a unit: minutes, hours or days (30m, 12h, 7d), 1m to 31d.",
  ),
  whole(
    "SLOW_REQUEST_MS",
    "1000",
    "Requests that take longer (without Prefer: wait) are logged, with what they waited for; 0: none.",
  ),
  whole("SLOW_QUERY_MS", "1000", "Statements that take longer are logged by name; 0: none."),
  secret("METRICS_TOKEN", "If set, /metrics requires this bearer token."),
  text(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    undefined,
    "Address of an OpenTelemetry collector (OTLP/HTTP), such as `http://127.0.0.1:4318`, that receives traces and metrics. Without it none are sent.",
  ),
  secret(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "Headers for the collector, `name=value,name=value`, values percent-encoded.",
  ),
  text("OTEL_SERVICE_NAME", "bellhop", "Name of this service in traces and metrics."),
  text(
    "OTEL_RESOURCE_ATTRIBUTES",
    undefined,
    "Further attributes of the service in traces and metrics, `name=value,name=value`, values percent-encoded.",
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
    "Milliseconds between two exports of metrics; 0: none are sent (`/metrics` has them, too).",
  ),
] satisfies readonly Setting[];

export type SettingName = (typeof SETTINGS)[number]["name"];
