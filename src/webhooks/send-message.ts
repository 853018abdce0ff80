import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import type { AddressRules } from "./address-rules.ts";
import { permittedAddresses, type ResolveHost, SendFailure } from "./endpoint-address.ts";

/** Timeout of one attempt, including DNS. */
const TRY_MS_MAX = 15_000;
/** Response bytes that are read and kept for the delivery log. */
const ANSWER_BYTES_MAX = 512;
const ANSWER_HEADER_BYTES_MAX = 8_192;
/** Interim responses (1xx) that are read: each costs time of the thread, and a receiver could send them without end. */
const INTERIM_MAX = 8;
const USER_AGENT = "Bellhop-Webhooks/1";

interface OutgoingTry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TryResult {
  /** Status of the response; null if there was none. */
  readonly status: number | null;
  /** One-word reason for a failure; null for a 2xx. */
  readonly failure: string | null;
  /** The receiver's Retry-After, or 0. */
  readonly retryAfterSeconds: number;
  /** The start of the response body, without control characters. */
  readonly answer: string;
}

export const NO_ANSWER = { status: null, retryAfterSeconds: 0, answer: "" };

export interface SendParts {
  readonly rules: AddressRules;
  readonly resolve: ResolveHost;
  /** Aborts every attempt when the node stops. */
  readonly stopping: AbortSignal;
  readonly tryMsMax?: number;
}

/**
 * POSTs a message once, on a separate connection, to a checked address. A redirect counts as a failure, because following it would bypass
 * the check. Never rejects.
 */
export async function sendMessage(outgoing: OutgoingTry, parts: SendParts): Promise<TryResult> {
  const late = AbortSignal.timeout(parts.tryMsMax ?? TRY_MS_MAX);
  const signal = AbortSignal.any([late, parts.stopping]);
  try {
    const url = new URL(outgoing.url);
    const addresses = await permittedAddresses(url, parts.rules, parts.resolve, signal);
    const { response, answer } = await post(url, addresses, outgoing, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    const failure = isGood ? null : status >= 300 && status < 400 ? "Redirected" : "NotAccepted";
    return { status, answer, failure, retryAfterSeconds: parseRetryAfter(response.headers["retry-after"]) };
  } catch (error) {
    const failure = parts.stopping.aborted ? "Stopped" : late.aborted ? "TimedOut" : reasonOf(error);
    return { ...NO_ANSWER, failure };
  }
}

/** One word for a failed connection: Node's error code if there is one (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …). */
function reasonOf(error: unknown): string {
  if (error instanceof SendFailure) return error.message;
  const causes = error instanceof AggregateError ? error.errors : [error];
  for (const cause of causes)
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string")
      return cause.code.slice(0, 64);
  return "Failed";
}

/** A lookup function that returns addresses already resolved and checked. */
function lookupOf(addresses: readonly string[]): NonNullable<RequestOptions["lookup"]> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family ?? 4);
  };
}

function post(url: URL, addresses: readonly string[], { headers, body }: OutgoingTry, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<{ response: IncomingMessage; answer: string }>();
  const sending = (url.protocol === "https:" ? request : requestHttp)(url, {
    method: "POST",
    // A separate connection: none is kept open for a receiver that may be gone, or shared between endpoints.
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
  let interim = 0;
  sending.on("information", () => {
    interim += 1;
    if (interim > INTERIM_MAX) sending.destroy(new SendFailure("NoFinalAnswer"));
  });
  // A 101 that upgrades the connection is neither a response nor an error.
  sending.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve({ response, answer: "" });
  });
  // Whatever else closes the connection before a response must end the attempt as well: it would take a place for good.
  const onClose = () => reject(new SendFailure("Closed"));
  sending.on("close", onClose);
  sending.on("response", (response) => {
    sending.off("close", onClose);
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
    // The status decides, even if the body is truncated.
    response.on("end", finish).on("error", finish).on("close", finish);
  });
  sending.end(body);
  return promise;
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.replace(/[\p{Cc}\p{Cf}\ufffd]+/gu, " ").trim();
}

/** Seconds of a Retry-After header (RFC 9110 section 10.2.3), which may be a date. */
function parseRetryAfter(header: string | undefined): number {
  if (header === undefined) return 0;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1_000);
}
