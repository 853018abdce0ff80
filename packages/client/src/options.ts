import type { Group, Inventory, Reservation } from "./api-types.ts";
import { invalidOption } from "./error.ts";
import { RETRY_DEFAULTS, type RetryOptions, type RetryPolicy } from "./http.ts";
import type { RefusedRecord, SendProgress } from "./report.ts";

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

export function readWhole(
  name: string,
  value: number | undefined,
  bounds: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  if (value === undefined) return bounds.fallback;
  if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return value;
  throw invalidOption(`${name} takes a whole number from ${bounds.min} to ${bounds.max}, not ${value}.`);
}

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

/**
 * What has been accepted, by Idempotency-Key, kept over the end of a process (`bellhop send` keeps it in a file). Without one a repeated
 * `send` is safe all the same: the service gives the first answer again for 24 hours, and after that calls every record a duplicate.
 */
export interface SendJournal {
  /** The request under which a batch was accepted already; it is not sent again. */
  find(idempotencyKey: string): string | undefined;
  /** Called once a batch is accepted, before anything else is told of it. */
  note(idempotencyKey: string, requestId: string): void | Promise<void>;
}

/** How records are sent; everything may be left out. */
export interface SendOptions {
  /** Records of one batch, 1 to 10,000; 500. */
  readonly batchRecords?: number | undefined;
  /** Bytes of one batch before compression, 1 kB to 64 MiB; 4 MiB. */
  readonly batchBytes?: number | undefined;
  /** Requests under way at once; the client's. With 1, batches arrive in the order of the records. */
  readonly concurrency?: number | undefined;
  /** Waits until every record has its outcome, and sums them up. */
  readonly waitForOutcomes?: boolean | undefined;
  /**
   * How long that may take for one batch before its records count as `pending`, in milliseconds; 10 minutes. They do, too, where
   * the service answers 500 to the question whatever happens.
   */
  readonly outcomesWithinMs?: number | undefined;
  /**
   * `Prefer: handling=lenient`: an invalid record is kept with its batch and reported as rejected, also to the operator. Without
   * it the invalid ones are set aside here, and the others of their batch are sent without them. Implies `waitForOutcomes`.
   */
  readonly lenient?: boolean | undefined;
  /** Sent with every batch as `X-Correlation-Id`. */
  readonly correlationId?: string | undefined;
  /** Other headers of every batch, such as `Backfill-Id`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly journal?: SendJournal | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told after every batch, and when it has to wait. */
  readonly onProgress?: ((progress: SendProgress) => void) | undefined;
  /** Told of every record that is refused or held aside, as soon as that is known. */
  readonly onRefused?: ((refused: RefusedRecord) => void) | undefined;
  /** Told of every batch that is accepted. */
  readonly onAccepted?: ((batch: AcceptedBatch) => void) | undefined;
}

/** A batch of which the service has said 202. */
export interface AcceptedBatch {
  readonly requestId: string;
  readonly idempotencyKey: string;
  /** Where its records stood in what was given to `send`, in their order in the batch. */
  readonly indexes: readonly number[];
}

export interface SendSettings extends SendOptions {
  readonly batchRecords: number;
  readonly batchBytes: number;
  readonly concurrency: number;
  readonly waitForOutcomes: boolean;
  readonly outcomesWithinMs: number;
  readonly lenient: boolean;
}

export function readSendOptions(options: SendOptions, concurrency: number): SendSettings {
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

/** The three kinds of records, as their endpoint's path names them (specification, section 1). */
export type Resource = "inventories" | "reservations" | "groups";

/** The record of each resource. */
export interface RecordOf {
  readonly inventories: Inventory;
  readonly reservations: Reservation;
  readonly groups: Group;
}
