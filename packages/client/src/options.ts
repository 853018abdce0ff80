import type { Group, Inventory, Reservation } from "./api-types.ts";
import { invalidOption } from "./error.ts";
import { RETRY_DEFAULTS, type RetryOptions, type WaitNotice } from "./http.ts";
import type { RefusedRecord, SendProgress } from "./report.ts";

export interface BellhopClientOptions {
  /** Address of the data endpoints without `/api`: `https://bellhop.example`. */
  readonly baseUrl: string;
  /** Address of the token endpoint; default `baseUrl`. */
  readonly authUrl?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes of the token (`"reservations:write read"`); default: all of the client's. */
  readonly scope?: string | undefined;
  /** Concurrent requests of one `send`, 1 to 64; default 4. */
  readonly concurrency?: number | undefined;
  /** Time limit of one attempt in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Default gzip. zstd is cheaper and needs Node 22.15 or newer. */
  readonly compression?: Compression | undefined;
  /** Replaces Node's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Shares tokens between processes; by default each process requests its own. */
  readonly tokenStore?: TokenStore | undefined;
  /** Called when any request has to wait: for a rate limit, or to be repeated after a failure. */
  readonly onWait?: ((notice: WaitNotice) => void) | undefined;
}

/** An access token in a TokenStore. */
export interface StoredToken {
  readonly value: string;
  readonly scopes: readonly string[];
  /** Unix time in milliseconds of its renewal; it is invalid at `expiresAt`. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** Shares tokens between processes. Errors are ignored, and a new token is requested. */
export interface TokenStore {
  /** `key`: a digest of the token endpoint, the credentials and the scope. */
  find(key: string): Promise<StoredToken | undefined>;
  keep(key: string, token: StoredToken): Promise<void>;
  /** Runs `work` in one process at a time, so that processes that start together request one token. */
  exclusive<Value>(key: string, work: () => Promise<Value>): Promise<Value>;
}

export type Compression = "gzip" | "zstd" | "none";

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
  let path = url.pathname;
  while (path.endsWith("/")) path = path.slice(0, -1);
  return `${url.origin}${path}`;
}

function readText(name: string, text: unknown): string {
  if (typeof text !== "string" || text === "") throw invalidOption(`${name} is missing.`);
  return text;
}

export function readWhole(
  name: string,
  value: number | undefined,
  bounds: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  if (value === undefined) return bounds.fallback;
  if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
  throw invalidOption(`${name} takes a whole number from ${bounds.min} to ${bounds.max}, not ${value}.`);
}

/** The options with their defaults. */
export type ClientSettings = Readonly<ReturnType<typeof readOptions>>;

export function readOptions(options: BellhopClientOptions) {
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
    concurrency: readWhole("concurrency", options.concurrency, { min: 1, max: 64, fallback: 4 }),
    timeoutMs: ms("timeoutMs", options.timeoutMs, 60_000, 1),
    retry: {
      forMs: ms("retry.forMs", forMs, RETRY_DEFAULTS.forMs),
      firstDelayMs: ms("retry.firstDelayMs", firstDelayMs, RETRY_DEFAULTS.firstDelayMs, 1),
      delayMsMax: ms("retry.delayMsMax", delayMsMax, RETRY_DEFAULTS.delayMsMax, 1),
    },
    compression,
    fetch: options.fetch ?? globalThis.fetch,
    tokenStore: options.tokenStore,
    onWait: options.onWait,
  };
}

export interface SendOptions {
  /** Records per batch, 1 to 10,000; default 500. */
  readonly batchRecords?: number | undefined;
  /** Bytes per batch before compression, 1 KiB to 64 MiB; default 4 MiB. */
  readonly batchBytes?: number | undefined;
  /** Concurrent requests; default the client's. With 1, batches arrive in order. */
  readonly concurrency?: number | undefined;
  /** Waits until every record has its outcome. */
  readonly waitForOutcomes?: boolean | undefined;
  /** Limit per batch in milliseconds, after which its records count as `pending`; default 10 minutes. */
  readonly outcomesWithinMs?: number | undefined;
  /**
   * `Prefer: handling=lenient`: the service stores and reports invalid records instead of refusing the batch. Implies
   * `waitForOutcomes`.
   */
  readonly lenient?: boolean | undefined;
  /** `X-Correlation-Id` of every batch. */
  readonly correlationId?: string | undefined;
  /** Other headers of every batch, such as `Backfill-Id`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after every batch, and when a request has to wait. */
  readonly onProgress?: ((progress: SendProgress) => void) | undefined;
  /** Called for every rejected, quarantined or discarded record. */
  readonly onRefused?: ((refused: RefusedRecord) => void) | undefined;
  /** Called for every accepted batch. */
  readonly onAccepted?: ((batch: AcceptedBatch) => void) | undefined;
}

export interface AcceptedBatch {
  readonly requestId: string;
  readonly idempotencyKey: string;
  /** Whether the service had accepted it before, under the same key, and stored nothing now. */
  readonly isReplayed: boolean;
  /** Positions of its records in the input of `send`. */
  readonly indexes: readonly number[];
}

/** The options with their defaults. */
export type SendSettings = Readonly<ReturnType<typeof readSendOptions>>;

export function readSendOptions(options: SendOptions, concurrency: number) {
  const lenient = options.lenient ?? false;
  const whole = (
    name: keyof SendOptions,
    value: number | undefined,
    min: number,
    max: number,
    fallback: number,
  ) => readWhole(name, value, { min, max, fallback });
  return {
    ...options,
    batchRecords: whole("batchRecords", options.batchRecords, 1, 10_000, 500),
    batchBytes: whole("batchBytes", options.batchBytes, 1_024, 67_108_864, 4_194_304),
    concurrency: whole("concurrency", options.concurrency, 1, 64, concurrency),
    outcomesWithinMs: whole("outcomesWithinMs", options.outcomesWithinMs, 0, 86_400_000, 600_000),
    waitForOutcomes: lenient || (options.waitForOutcomes ?? false),
    lenient,
  };
}

export type Resource = "inventories" | "reservations" | "groups";

export interface RecordOf {
  readonly inventories: Inventory;
  readonly reservations: Reservation;
  readonly groups: Group;
}
