import type { ErrorBody, ErrorCode, ViolationBody } from "./api-types.ts";
import { BellhopError, type BellhopErrorCode, type RecordViolation } from "./error.ts";
import { retryAfterMs } from "./retry.ts";

/** An error object lists 100 violations of less than 1 kB each; a proxy's page is not worth more. */
const ERROR_BYTES_MAX = 262_144;
const MESSAGE_CHARACTERS_MAX = 500;

/** Statuses after which the same again may succeed (docs/contract.md, "In short"); 502 and 504 are a proxy's. */
const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504]);

/** What a body that is cut off, or that nobody expects, becomes. It is safe to ask again. */
export function unexpectedAnswer(message: string, response: Response, cause?: unknown): BellhopError {
  return new BellhopError(message, {
    exception: "client.UnexpectedAnswer",
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryable: true,
    cause,
  });
}

/** Reads a body as text, of no more than `bytesMax` bytes. Throws `client.UnexpectedAnswer` when it is longer or is cut off. */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > bytesMax) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch (cause) {
    throw unexpectedAnswer("The answer was cut off.", response, cause);
  }
  await reader.cancel();
  throw unexpectedAnswer(`The answer has more than ${bytesMax} bytes.`, response);
}

/** Reads a JSON body. Throws `client.UnexpectedAnswer` when it is none. */
export async function readJson<Body>(response: Response, bytesMax: number): Promise<Body> {
  const text = await readText(response, bytesMax);
  try {
    return JSON.parse(text) as Body;
  } catch (cause) {
    throw unexpectedAnswer("The answer is not JSON, or was cut off.", response, cause);
  }
}

interface ErrorLike extends Partial<ErrorBody> {
  /** OAuth's code in the place of the status message. */
  readonly error_description?: string;
}

function parsed(text: string): ErrorLike {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as ErrorLike) : {};
  } catch {
    return {};
  }
}

/** RFC 6750's code of a challenge: `invalid_token`, `insufficient_scope`. */
export function bearerError(response: Response): string | undefined {
  return /error="([a-z_]{1,64})"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
}

function codeOf(response: Response, body: ErrorLike): BellhopErrorCode {
  if (typeof body.exception === "string") return body.exception as ErrorCode;
  const oauth = typeof body.error_description === "string" ? body.error : bearerError(response);
  return oauth === undefined ? `http.${response.status}` : `oauth.${oauth}`;
}

const WORDS: Readonly<Record<number, string>> = {
  401: "The service saw no token.",
  403: "The token was refused, or does not allow this.",
};

function messageOf(response: Response, body: ErrorLike): string {
  const said = body.message ?? body.error_description;
  if (typeof said === "string" && said !== "") return said.slice(0, MESSAGE_CHARACTERS_MAX);
  if (response.status === 403 && bearerError(response) === "insufficient_scope")
    return "The client may not do this: its token lacks the scope, or a record names codes that are not its own.";
  if (response.status >= 300 && response.status < 400)
    return `The service answered ${response.status} to ${response.headers.get("location") ?? "another address"}; use that as the address. Redirects are not followed.`;
  return WORDS[response.status] ?? `The service answered ${response.status}.`;
}

/** A violation of a batch, as one of a record: the first step of its pointer is the record's index in the batch. */
export function ofRecord({ pointer, code, message }: ViolationBody): RecordViolation[] {
  const [, index, rest] = /^\/(\d{1,9})(\/.*)?$/s.exec(pointer) ?? [];
  return index === undefined
    ? []
    : [{ pointer: rest ?? "", code, message, index: Number(index), record: undefined }];
}

/** Reads an answer that is none of success into an error; indexes are into the batch. The body is read and done with. */
export async function readError(response: Response): Promise<BellhopError> {
  const text = await readText(response, ERROR_BYTES_MAX).catch(() => "");
  const body = parsed(text);
  const violations = Array.isArray(body.violations) ? body.violations.flatMap(ofRecord) : [];
  return new BellhopError(messageOf(response, body), {
    exception: codeOf(response, body),
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    violations,
    violationTotal: Number(body.violationTotal ?? violations.length),
    retryable: RETRYABLE.has(response.status),
    retryAfterMs: retryAfterMs(response.headers),
  });
}
