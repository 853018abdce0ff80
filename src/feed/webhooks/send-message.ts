import type { IncomingMessage, RequestOptions } from "node:http";
import { request as requestInTheClear } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import type { AddressRules } from "./address-rules.ts";
import { permittedAddresses, type ResolveHost, SendFailure } from "./resolve-host.ts";

/** One try, from the question for the address to the answer. */
const TRY_MS_MAX = 15_000;
/** Of an answer's body so much is kept, for people; no more than that is read. */
const ANSWER_BYTES_MAX = 512;
const ANSWER_HEADER_BYTES_MAX = 8_192;

/** One try of a message, as it goes out. */
export interface OutgoingTry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came of a try. */
export interface TryResult {
  /** Of the answer; null when there was none. */
  readonly status: number | null;
  /** Why it was no delivery, in a word; null for a 2xx. */
  readonly failure: string | null;
  /** What the receiver asked for by Retry-After; else 0. */
  readonly retryAfterSeconds: number;
  /** The beginning of the answer's body, without control characters. */
  readonly answer: string;
}

export interface SendParts {
  readonly rules: AddressRules;
  readonly resolve: ResolveHost;
  /** Ends every try when the node stops. */
  readonly stopping: AbortSignal;
  readonly tryMsMax?: number;
}

const USER_AGENT = "Bellhop-Webhooks/1";

/**
 * POSTs a message once, on a connection of its own, to an address that was looked at. Redirects are answers like any other
 * that is not 2xx: whoever followed one would be led where the rules do not look. Never rejects.
 */
export async function sendMessage(outgoing: OutgoingTry, parts: SendParts): Promise<TryResult> {
  const late = AbortSignal.timeout(parts.tryMsMax ?? TRY_MS_MAX);
  const signal = AbortSignal.any([late, parts.stopping]);
  const answered = { status: null, retryAfterSeconds: 0, answer: "" };
  try {
    const url = new URL(outgoing.url);
    const addresses = await permittedAddresses(url, parts.rules, parts.resolve, signal);
    const { response, answer } = await post(url, addresses, outgoing, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    return {
      ...{ status, answer },
      failure: isGood ? null : status >= 300 && status < 400 ? "Redirected" : "NotAccepted",
      retryAfterSeconds: secondsAskedFor(response.headers["retry-after"]),
    };
  } catch (error) {
    if (parts.stopping.aborted) return { ...answered, failure: "Stopped" };
    if (late.aborted) return { ...answered, failure: "TimedOut" };
    return { ...answered, failure: reasonOf(error) };
  }
}

/** A word for what went wrong on the way: Node's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …) where it has one. */
function reasonOf(error: unknown): string {
  if (error instanceof SendFailure) return error.reason;
  const causes = error instanceof AggregateError ? error.errors : [error];
  for (const cause of causes)
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string")
      return cause.code.slice(0, 64);
  return "Failed";
}

/** Answers what Node's own lookup would, from addresses that are known already. */
function lookupOf(addresses: readonly string[]): NonNullable<RequestOptions["lookup"]> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family ?? 4);
  };
}

function post(
  url: URL,
  addresses: readonly string[],
  { headers, body }: OutgoingTry,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly answer: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ response: IncomingMessage; answer: string }>();
  const sending = (url.protocol === "https:" ? request : requestInTheClear)(url, {
    method: "POST",
    // A connection of its own: none is kept for a receiver that may be gone, and none is shared between endpoints.
    agent: false,
    lookup: lookupOf(addresses),
    signal,
    maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    headers: {
      ...headers,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": USER_AGENT,
    },
  });
  sending.on("error", reject);
  sending.on("response", (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = () => {
      resolve({ response, answer: textOf(Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX)) });
      sending.destroy();
    };
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES_MAX) finish();
    });
    // The status is what counts: an answer whose body breaks off has been given.
    response.on("end", finish).on("error", finish).on("close", finish);
  });
  sending.end(body);
  return promise;
}

function textOf(bytes: Buffer): string {
  return bytes
    .toString("utf8")
    .replace(/[\p{Cc}\p{Cf}\ufffd]+/gu, " ")
    .trim();
}

/** Seconds of a Retry-After header (RFC 9110 section 10.2.3), which may be a date. */
function secondsAskedFor(header: string | undefined): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1_000);
}
