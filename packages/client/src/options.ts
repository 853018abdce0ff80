import { invalidOption } from "./error.ts";
import { RETRY_DEFAULTS, type RetryOptions, type RetryPolicy } from "./retry.ts";

/** What a client is made of. */
export interface BellhopClientOptions {
  /** Where the data endpoints are: `https://bellhop.example`, without `/api`. */
  readonly baseUrl: string;
  /** Where tokens are issued, when that is another address. */
  readonly authUrl?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the token is to allow (`"reservations:write read"`); all that the client has when left out. */
  readonly scope?: string | undefined;
  /** Requests of one `send` under way at once, 1 to 64; 4. */
  readonly concurrency?: number | undefined;
  /** How long one attempt may take in all, in milliseconds; 60,000. */
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /** How bodies are compressed; gzip. zstd costs less, and needs Node 22.15 or newer. */
  readonly compression?: Compression | undefined;
  /** Another `fetch` than Node's. */
  readonly fetch?: typeof fetch | undefined;
}

export type Compression = "gzip" | "zstd" | "none";

/** Options that were read, with their defaults. */
export interface ClientSettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  readonly compression: Compression;
  readonly fetch: typeof fetch;
}

const CONCURRENCY_MAX = 64;
const COMPRESSIONS: readonly string[] = ["gzip", "zstd", "none"] satisfies Compression[];

function readUrl(name: string, text: unknown): string {
  if (typeof text !== "string" || !URL.canParse(text))
    throw invalidOption(
      `${name} takes an address such as https://bellhop.example, not ${JSON.stringify(text)}.`,
    );
  const url = new URL(text);
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.search !== "" || url.hash !== "")
    throw invalidOption(`${name} takes an http or https address without a query.`);
  if (url.username !== "" || url.password !== "")
    throw invalidOption(`${name} takes no user name: the credentials are clientId and clientSecret.`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function readText(name: string, text: unknown): string {
  if (typeof text !== "string" || text === "") throw invalidOption(`${name} is missing.`);
  return text;
}

/** A whole number of an option, within its bounds. */
export function readWhole(
  name: string,
  value: number | undefined,
  bounds: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  if (value === undefined) return bounds.fallback;
  if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
  throw invalidOption(`${name} takes a whole number from ${bounds.min} to ${bounds.max}, not ${value}.`);
}

/** Checks the options of a client. Throws `client.InvalidOption`. */
export function readOptions(options: BellhopClientOptions): ClientSettings {
  const baseUrl = readUrl("baseUrl", options.baseUrl);
  const compression = options.compression ?? "gzip";
  if (!COMPRESSIONS.includes(compression))
    throw invalidOption(`compression takes ${COMPRESSIONS.join(", ")}, not ${JSON.stringify(compression)}.`);
  const ms = (name: string, value: number | undefined, fallback: number, min = 0) =>
    readWhole(name, value, { min, max: 86_400_000, fallback });
  const { forMs, firstDelayMs, delayMsMax } = options.retry ?? {};
  return {
    baseUrl,
    authUrl: options.authUrl === undefined ? baseUrl : readUrl("authUrl", options.authUrl),
    clientId: readText("clientId", options.clientId),
    clientSecret: readText("clientSecret", options.clientSecret),
    scope: options.scope,
    concurrency: readWhole("concurrency", options.concurrency, { min: 1, max: CONCURRENCY_MAX, fallback: 4 }),
    timeoutMs: ms("timeoutMs", options.timeoutMs, 60_000, 1),
    retry: {
      forMs: ms("retry.forMs", forMs, RETRY_DEFAULTS.forMs),
      firstDelayMs: ms("retry.firstDelayMs", firstDelayMs, RETRY_DEFAULTS.firstDelayMs, 1),
      delayMsMax: ms("retry.delayMsMax", delayMsMax, RETRY_DEFAULTS.delayMsMax, 1),
    },
    compression,
    fetch: options.fetch ?? globalThis.fetch,
  };
}
