import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { SETTINGS, type Setting, type SettingName } from "./config-table.ts";
import type { Role } from "./platform/db/coordination.ts";
import { OperatorError } from "./platform/errors/operator-error.ts";
import { isLoopback, NetworkError, readNetworks } from "./platform/http/networks.ts";
import { readTelemetry } from "./platform/telemetry/telemetry-settings.ts";

const MIB = 1_048_576;

/** The sandbox client's client code, as in the README's example. */
export const SANDBOX_CLIENT_CODE = "DEMO";

/** An invalid setting; the message names it and its valid values. */
export class ConfigError extends OperatorError {}

const PORT_MAX = 65_535;
/** Each thread takes about 30 MB and its database connections. */
const HTTP_THREADS_MAX = 64;
/** On two hardware threads one HTTP thread accepted as much as two, with 60 MB less (docs/decisions/0004-threads.md). */
const HTTP_THREADS_DEFAULT = Math.min(Math.ceil(availableParallelism() / 2), 4);
const ACCEPT_WRITERS_MAX = 16;
/** There are 64 buckets to distribute. */
const APPLY_WRITERS_MAX = 64;
const APPLY_WRITERS_DEFAULT = Math.min(availableParallelism(), 2);
/** Load balancers that check every second have noticed by then; a longer time would leave too little of the 10 s for the drain. */
const STOP_GRACE_MS_IN_PRODUCTION = 2_000;
const STOP_GRACE_MS_MAX = 3_000;
const WEBHOOK_PAUSE_HOURS_MAX = 8_760;
const ROTATION_DAYS_MAX = 3_650;
const ROLES: readonly Role[] = ["accept", "apply", "read"];

function readRoles(text: string): readonly Role[] {
  const names = text.split(",").map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  if (roles.length === names.length) return roles;
  throw new ConfigError(`ROLE must be one or more of ${ROLES.join(",")}, each once, not "${text}".`);
}

/** Minimum for slow readers, independent of a short `KEEP_ALIVE_TIMEOUT_MS` behind a proxy. */
const STALLED_MS_MIN = 30_000;
/** How often the progress of bodies is checked: a stalled one ends after one to two times as long. */
const SLOW_BODY_MS = 5_000;
const WINDOW_UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const WINDOW_MS_MAX = 31 * 86_400_000;

function readWindow(value: string): number {
  const [, count = "0", unit = ""] = /^(\d{1,5})([mhd])$/.exec(value) ?? [];
  const ms = Number(count) * (WINDOW_UNIT_MS[unit] ?? 0);
  if (ms >= 60_000 && ms <= WINDOW_MS_MAX) return ms;
  throw new ConfigError(
    `RETENTION_WINDOW must be minutes, hours or days such as 7d, 1m to 31d, not "${value}".`,
  );
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "silent"];

/** A URL for documents and tokens: http or https, without credentials, query or fragment; returned without trailing slash. */
function readAddress(name: SettingName, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!isPlain || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(value) || /[?#\s]/.test(value)) {
    throw new ConfigError(`${name} must be an http or https address such as https://hotels.example.`);
  }
  let address = value;
  while (address.endsWith("/")) address = address.slice(0, -1);
  return address;
}

/** The OpenID Connect provider for operators; undefined if none is configured. */
function readSingleSignOn({ text, address }: ReturnType<typeof reader>) {
  const issuer = address("CONSOLE_OIDC_ISSUER");
  const clientId = text("CONSOLE_OIDC_CLIENT_ID");
  if (issuer === undefined) return undefined;
  if (clientId === undefined) throw new ConfigError("CONSOLE_OIDC_ISSUER requires CONSOLE_OIDC_CLIENT_ID.");
  const { protocol, hostname } = new URL(issuer);
  if (protocol !== "https:" && !isLoopback(hostname))
    throw new ConfigError("CONSOLE_OIDC_ISSUER must be an https address.");
  return { issuer, clientId, clientSecret: text("CONSOLE_OIDC_CLIENT_SECRET") };
}

const MAIL_ADDRESS = /^[!-;=?A-~]{1,64}@[A-Za-z0-9.-]{1,190}$/;

/** The mail server for reports and alerts; undefined if none is configured. */
function readMail({ text }: ReturnType<typeof reader>) {
  const url = text("SMTP_URL");
  const from = text("SMTP_FROM");
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The message must not have the value, which contains a password.
  if (parsed === undefined || !/^smtps?:$/.test(parsed.protocol) || parsed.hostname === "")
    throw new ConfigError("SMTP_URL must be an address such as smtps://user:password@smtp.example:465.");
  if (from === undefined) throw new ConfigError("SMTP_URL requires SMTP_FROM.");
  const [, name = "", inAngles] = /^([^<>]{0,100}?) {0,9}<([^<>]{1,255})>$/.exec(from) ?? [];
  const address = inAngles ?? from;
  if (!MAIL_ADDRESS.test(address) || /\p{Cc}/u.test(name))
    throw new ConfigError(`SMTP_FROM must be like Bellhop <bellhop@hotels.example>, not "${from}".`);
  return { url, from: { name, address } };
}

function readNetworksOf(name: SettingName, text: string | undefined): readonly string[] {
  try {
    return readNetworks(text ?? "");
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`, { cause: error });
  }
}

const LOOPBACK_NETWORKS = "127.0.0.0/8,::1/128";

/** A secret is a single line; a longer file is probably the wrong one. */
const SECRET_BYTES_MAX = 65_536;

/** A secret's value from the environment, or from the file named by NAME_FILE without its line ending. */
function secretOf(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name] || undefined;
  const file = environment[`${name}_FILE`] || undefined;
  if (file === undefined) return value;
  if (value !== undefined) throw new ConfigError(`Set ${name} or ${name}_FILE, not both.`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
    throw new ConfigError(`${name}_FILE cannot be read (${code}).`, { cause });
  }
  const text = bytes.toString("utf8").replace(/\r?\n$/, "");
  if (text === "" || bytes.length > SECRET_BYTES_MAX || /[\r\n\0]/.test(text))
    throw new ConfigError(`The file that ${name}_FILE names must hold one line and nothing else.`);
  return text;
}

const KEY_BYTES = 32;

function readKey(name: SettingName, text: string): string {
  if (Buffer.from(text, "base64").length === KEY_BYTES) return text;
  throw new ConfigError(`${name} must be ${KEY_BYTES} bytes in base64.`);
}

/** Encryption keys and key rotation. */
function readKeys({ text, number, yes }: ReturnType<typeof reader>) {
  const current = text("KEY_ENCRYPTION_KEY");
  const previous = text("KEY_ENCRYPTION_KEY_PREVIOUS");
  const encryptPayloads = yes("ENCRYPT_PAYLOADS");
  if (current === undefined && (previous !== undefined || encryptPayloads)) {
    const name = encryptPayloads ? "ENCRYPT_PAYLOADS" : "KEY_ENCRYPTION_KEY_PREVIOUS";
    throw new ConfigError(`${name} requires KEY_ENCRYPTION_KEY.`);
  }
  return {
    keyEncryptionKey: current === undefined ? undefined : readKey("KEY_ENCRYPTION_KEY", current),
    keyEncryptionKeysPrevious: (previous?.split(",") ?? []).map((each) =>
      readKey("KEY_ENCRYPTION_KEY_PREVIOUS", each.trim()),
    ),
    encryptPayloads,
    payloadKeyRotationDays: number("PAYLOAD_KEY_ROTATION_DAYS", ROTATION_DAYS_MAX),
    signingKeyRotationDays: number("SIGNING_KEY_ROTATION_DAYS", ROTATION_DAYS_MAX),
  };
}

/** Creates readers of setting values by kind. */
function reader(environment: NodeJS.ProcessEnv) {
  const text = (name: SettingName): string | undefined => {
    const setting: Setting | undefined = SETTINGS.find((each) => each.name === name);
    const value = setting?.isSecret === true ? secretOf(environment, name) : environment[name];
    return value !== undefined && value !== "" ? value : setting?.fallback;
  };
  const number = (name: SettingName, most = Number.MAX_SAFE_INTEGER): number => {
    const value = text(name);
    if (value === undefined || !/^\d{1,15}$/.test(value))
      throw new ConfigError(`${name} must be a whole number, not "${value}".`);
    if (Number(value) > most) throw new ConfigError(`${name} must be at most ${most}.`);
    return Number(value);
  };
  const positive = (name: SettingName, most = Number.MAX_SAFE_INTEGER): number => {
    const value = number(name, most);
    if (value < 1) throw new ConfigError(`${name} must be at least 1.`);
    return value;
  };
  const threads = (name: SettingName, byDefault: number, most: number): number =>
    text(name) === undefined ? byDefault : positive(name, most);
  const yes = (name: SettingName): boolean => {
    const value = text(name)?.toLowerCase() ?? "no";
    if (["1", "yes", "true", "on"].includes(value)) return true;
    if (["0", "no", "false", "off"].includes(value)) return false;
    throw new ConfigError(`${name} must be yes or no, not "${value}".`);
  };
  const address = (name: SettingName): string | undefined => {
    const value = text(name);
    return value === undefined ? undefined : readAddress(name, value);
  };
  return { text, number, positive, threads, yes, address };
}

/** The settings of a service (listed in config-table.ts), read from the environment only here. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/** Reads and validates all settings. Throws ConfigError for the first invalid one. */
export function readConfig(environment: NodeJS.ProcessEnv, options: { sandbox?: boolean } = {}) {
  const settings = reader(environment);
  const { text, number, positive, threads, yes, address } = settings;
  // A misspelt "production" must not open a sandbox.
  const production = !["development", "test"].includes(text("NODE_ENV") ?? "development");
  const port = number("PORT", PORT_MAX);
  const authPort = text("AUTH_PORT") === undefined ? undefined : number("AUTH_PORT", PORT_MAX);
  if (authPort !== undefined && authPort !== 0 && authPort === port) {
    throw new ConfigError("AUTH_PORT must be another port than PORT.");
  }
  const logLevel = text("LOG_LEVEL") ?? "info";
  if (!LOG_LEVELS.includes(logLevel)) {
    throw new ConfigError(`LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}, not "${logLevel}".`);
  }
  const host = text("HOST") ?? "127.0.0.1";
  const alone = text("DATABASE_URL") === undefined && isLoopback(host);
  const sandbox = !production && alone && (options.sandbox ?? true);
  return {
    port,
    host,
    dataDir: resolve(text("DATA_DIR") ?? "./data"),
    databaseUrl: text("DATABASE_URL"),
    production,
    /** Whether a sandbox client may exist: only with the embedded database on a loopback address, and not in production. */
    sandbox,
    baseUrl: address("BASE_URL"),
    authUrl: address("AUTH_URL"),
    authPort,
    logLevel,
    ...readKeys(settings),
    allowUnsafeDurability: yes("ALLOW_UNSAFE_DURABILITY"),
    minFreeDiskBytes: number("MIN_FREE_DISK_MIB") * MIB,
    limits: {
      bodyBytesMax: positive("BODY_LIMIT_BYTES"),
      inflatedBytesMax: positive("INFLATED_LIMIT_BYTES"),
      bodiesInFlightBytesMax: positive("BODIES_IN_FLIGHT_BYTES"),
      recordsMax: positive("RECORDS_PER_BATCH_MAX"),
      depthMax: positive("NESTING_DEPTH_MAX"),
      headersTimeoutMs: positive("HEADERS_TIMEOUT_MS"),
      requestTimeoutMs: positive("REQUEST_TIMEOUT_MS"),
      keepAliveTimeoutMs: positive("KEEP_ALIVE_TIMEOUT_MS"),
      stalledTimeoutMs: Math.max(STALLED_MS_MIN, positive("KEEP_ALIVE_TIMEOUT_MS")),
      slowBodyMs: SLOW_BODY_MS,
    },
    requestRate: positive("REQUEST_RATE"),
    requestBurst: positive("REQUEST_BURST"),
    tokenBurst: positive("TOKEN_BURST"),
    tokenStrictHour: yes("TOKEN_STRICT_HOUR"),
    newPropertiesPerDay: positive("NEW_PROPERTIES_PER_DAY"),
    roles: readRoles(text("ROLE") ?? ""),
    httpThreads: threads("HTTP_THREADS", HTTP_THREADS_DEFAULT, HTTP_THREADS_MAX),
    acceptWriters: positive("ACCEPT_WRITERS", ACCEPT_WRITERS_MAX),
    applyWriters: threads("APPLY_WRITERS", APPLY_WRITERS_DEFAULT, APPLY_WRITERS_MAX),
    applyPollMs: positive("APPLY_POLL_MS"),
    stopGraceMs:
      text("STOP_GRACE_MS") === undefined
        ? production
          ? STOP_GRACE_MS_IN_PRODUCTION
          : 0
        : number("STOP_GRACE_MS", STOP_GRACE_MS_MAX),
    retentionWindowMs: readWindow(text("RETENTION_WINDOW") ?? ""),
    metricsToken: text("METRICS_TOKEN"),
    slowRequestMs: number("SLOW_REQUEST_MS"),
    slowQueryMs: number("SLOW_QUERY_MS"),
    telemetry: readTelemetry({ ...settings, refusal: (reason) => new ConfigError(reason) }),
    // For trying out webhooks with a receiver on the same machine.
    webhookAllowedNetworks: readNetworksOf(
      "WEBHOOK_ALLOWED_NETWORKS",
      text("WEBHOOK_ALLOWED_NETWORKS") ?? (sandbox ? LOOPBACK_NETWORKS : undefined),
    ),
    singleSignOn: readSingleSignOn(settings),
    mail: readMail(settings),
    trustedProxies: readNetworksOf("TRUSTED_PROXIES", text("TRUSTED_PROXIES")),
    webhookPauseHours: positive("WEBHOOK_PAUSE_HOURS", WEBHOOK_PAUSE_HOURS_MAX),
  };
}

/** The URL where a service with these settings listens. */
export function localAddress({ host, port }: Pick<Config, "host" | "port">): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Service address and credentials of partner commands, as defaults of their options (docs/sending.md). */
export interface PartnerSettings {
  readonly url: string | undefined;
  readonly authUrl: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
}

/** Their environment variables. */
export const PARTNER_VARIABLES: Readonly<Record<keyof PartnerSettings, string>> = {
  url: "BELLHOP_URL",
  authUrl: "BELLHOP_AUTH_URL",
  clientId: "BELLHOP_CLIENT_ID",
  clientSecret: "BELLHOP_CLIENT_SECRET",
};

/** Reads them; empty values count as unset. */
export function readPartnerSettings(environment: NodeJS.ProcessEnv): PartnerSettings {
  const text = (name: keyof PartnerSettings) => environment[PARTNER_VARIABLES[name]] || undefined;
  const clientSecret = secretOf(environment, PARTNER_VARIABLES.clientSecret);
  return { url: text("url"), authUrl: text("authUrl"), clientId: text("clientId"), clientSecret };
}
