import { bearerError, readError } from "./answer.ts";
import { type BellhopError, invalidOption } from "./error.ts";
import { fetchWithin } from "./fetch-within.ts";
import { Gate } from "./gate.ts";
import type { ClientSettings } from "./options.ts";
import { type RetryNotice, withRetries } from "./retry.ts";
import { FIRST_CONTACT_MS, type Token, type TokenSource, tokenSourceFor } from "./token-source.ts";

/** A request that may be sent more than once: its body is at hand, and doing it twice does what doing it once does. */
export interface SafeRequest {
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  readonly signal?: AbortSignal | undefined;
  /** How long the service may take on top of the client's own time for an attempt: a long poll. */
  readonly waitMs?: number;
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** How long this error is worth another attempt, where that is less than the client's own time, in milliseconds. */
  readonly patienceMsOf?: ((error: BellhopError) => number) | undefined;
}

const API = "/api/public/v1";

/** The address of a path below the API, with its query; undefined values are left out. */
export function apiPath(
  path: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] satisfies [string, string]],
  );
  return given.length === 0 ? `${API}/${path}` : `${API}/${path}?${new URLSearchParams(given)}`;
}

/** The way to one service as one client: the token, the pace and the retries of all its requests. */
export class Connection {
  readonly settings: ClientSettings;
  readonly tokens: TokenSource;
  readonly #gate = new Gate();
  #wasReached = false;

  constructor(settings: ClientSettings) {
    this.settings = settings;
    this.tokens = tokenSourceFor({ ...settings, url: `${settings.authUrl}/api/oauth2/token` });
  }

  /**
   * Sends a request until it is answered: 2xx and 304 go to `read`; what may pass (429, 408, 5xx, a broken connection, an answer
   * that is cut off) is tried again at the pace of the service; anything else rejects with its BellhopError.
   */
  ask<Value>(request: SafeRequest, read: (response: Response) => Promise<Value>): Promise<Value> {
    const { signal, onRetry, patienceMsOf } = request;
    const forMsOf = (error: BellhopError) => {
      if (!this.#wasReached && error.status === undefined) return FIRST_CONTACT_MS;
      return patienceMsOf?.(error) ?? Number.POSITIVE_INFINITY;
    };
    return withRetries(() => this.#attempt(request, read), this.settings.retry, {
      gate: this.#gate,
      signal,
      onRetry,
      forMsOf,
    });
  }

  /**
   * One request with the client's token, its answer as it is: what `BellhopClient.fetch` does. It is sent again only when the
   * service refused the token, after one renewal, and when its body can be sent twice.
   */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const url = this.#urlOf(path);
    const signal = init.signal ?? undefined;
    const isReplayable = !(init.body instanceof ReadableStream) && !isAsyncIterable(init.body);
    for (;;) {
      const token = await this.tokens.current(signal);
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${token.value}`);
      const response = await this.settings.fetch(url, { redirect: "manual", ...init, headers });
      if (!isRefusedToken(response, token)) {
        token.worked = true;
        return response;
      }
      if (!isReplayable || !(await this.tokens.replace(token, signal))) return response;
      await response.body?.cancel();
    }
  }

  async #attempt<Value>(request: SafeRequest, read: (response: Response) => Promise<Value>): Promise<Value> {
    const { method = "GET", body, signal, waitMs = 0 } = request;
    for (;;) {
      const token = await this.tokens.current(signal);
      const headers = {
        accept: "application/json",
        ...request.headers,
        authorization: `Bearer ${token.value}`,
      };
      const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body }) };
      const bounds = { timeoutMs: this.settings.timeoutMs + waitMs, signal };
      const answer = await fetchWithin(
        this.settings.fetch,
        this.#urlOf(request.path),
        init,
        bounds,
        async (response) => {
          this.#wasReached = true;
          this.#gate.heed(response.headers);
          if (isRefusedToken(response, token)) return { refused: await readError(response) };
          token.worked = true;
          if (!response.ok) throw await readError(response);
          return { value: await read(response) };
        },
      );
      if (answer.refused === undefined) return answer.value;
      if (!(await this.tokens.replace(token, signal))) throw answer.refused;
    }
  }

  /** The token never goes to another address than the service's. */
  #urlOf(path: string): string {
    const { baseUrl } = this.settings;
    if (!path.startsWith("/"))
      throw invalidOption(`A path begins with a slash, such as /api/public/v1/requests, not ${path}.`);
    const url = new URL(`${baseUrl}${path}`);
    if (url.origin !== new URL(baseUrl).origin) throw invalidOption(`${path} leads to another address.`);
    return url.href;
  }
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/**
 * Whether an answer is about the token and another one may help: 401 (a proxy dropped it), 403 `invalid_token`, or a 403 that does
 * not say why to a token that worked before. `insufficient_scope` is about the client.
 */
function isRefusedToken(response: Response, token: Token): boolean {
  if (response.status === 401) return true;
  if (response.status !== 403) return false;
  const reason = bearerError(response);
  return reason === undefined ? token.worked : reason === "invalid_token";
}
