import { CONSOLE_API, CSRF_HEADER, type ErrorAnswer } from "../contract.ts";
import { nextPageOf, withoutHead } from "../field/csv.ts";
import { csrfToken, renewSession } from "./query-client.ts";

/** Parameters of an address; those that are undefined or empty are left out. */
export type Parameters = Readonly<Record<string, string | number | undefined>>;

/** What went wrong with a call, in words for the operator. */
export class CallError extends Error {
  override readonly name = "CallError";
  /** 0: no answer came. */
  readonly status: number;
  readonly exception: string;
  /** Of 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    answer: Pick<ErrorAnswer, "status" | "exception" | "message">,
    retryAfterSeconds?: number,
    options?: ErrorOptions,
  ) {
    super(answer.message, options);
    this.status = answer.status;
    this.exception = answer.exception;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** `requests` with `{limit: 20}` as `requests?limit=20`. */
export function addressOf(path: string, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Asks an address under the console's API. Throws CallError. */
export async function ask<Answer>(address: string, signal?: AbortSignal): Promise<Answer> {
  const response = await reach(address, signal === undefined ? {} : { signal });
  return readAnswer<Answer>(response);
}

/** So many pages a file has at most: more rows than a spreadsheet takes. */
const CSV_PAGES_MAX = 1_000;

/** The same as the text of a CSV file, all of its pages one after the other. */
export async function askForCsv(address: string): Promise<string> {
  const pages: string[] = [];
  for (let next: string | undefined = address; next !== undefined && pages.length < CSV_PAGES_MAX; ) {
    const response: Response = await reach(next, { headers: { accept: "text/csv" } });
    const page = await response.text();
    pages.push(pages.length === 0 ? page : withoutHead(page));
    next = nextPageOf(response.headers.get("link"))?.replace(`${CONSOLE_API}/`, "");
  }
  return pages.join("");
}

/** Tells the service to do something. Throws CallError. */
export async function tell<Answer>(path: string, body: object): Promise<Answer> {
  const token = csrfToken();
  const response = await reach(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === null ? {} : { [CSRF_HEADER]: token }),
    },
    body: JSON.stringify(body),
  });
  return readAnswer<Answer>(response);
}

async function readAnswer<Answer>(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch (cause) {
    const message =
      "The answer could not be read. The console may be older than the service: load the page again.";
    throw new CallError({ status: 0, exception: "", message }, undefined, { cause });
  }
}

async function reach(address: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${CONSOLE_API}/${address}`, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    const message = "The service cannot be reached. It may be restarting, or the network is down.";
    throw new CallError({ status: 0, exception: "", message }, undefined, { cause });
  }
  if (response.ok) return response;
  const error = await readError(response);
  if (error.exception === "bellhop.console.NotLoggedIn") void renewSession();
  throw error;
}

async function readError(response: Response): Promise<CallError> {
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const seconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  try {
    const { exception, message } = (await response.json()) as Partial<ErrorAnswer>;
    if (typeof exception === "string" && typeof message === "string")
      return new CallError({ status: response.status, exception, message }, seconds);
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const message = `The service answered ${response.status} and gave no reason.`;
  return new CallError({ status: response.status, exception: "", message }, seconds);
}
