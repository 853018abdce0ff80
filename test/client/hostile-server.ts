import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

/**
 * What goes wrong with one data request. Those of `after` happen when the batch is accepted already, and the client
 * cannot know; the others before anything is kept.
 */
export type Misdeed =
  | "429 with Retry-After"
  | "429 without Retry-After"
  | "429 with a date"
  | "503 with Retry-After"
  | "500"
  | "502 from a proxy"
  | "408"
  | "a reset before"
  | "a reset after"
  | "a cut off answer after"
  | "half a JSON after"
  | "a proxy's page instead of a 202 after"
  | "silence"
  | "silence after"
  | "a slow answer after"
  | "401"
  | "403 invalid_token"
  | "403 without a reason";

/** Of the token endpoint. */
export type TokenMisdeed = "429" | "503" | "a reset" | "half a JSON" | "no token" | "a wrong secret";

export interface HostilePlan {
  /** What goes wrong with the n-th data request (from 0); undefined: nothing. */
  data?(count: number): Misdeed | undefined;
  token?(count: number): TokenMisdeed | undefined;
  /** What is answered to GET requests. */
  get?(request: IncomingMessage, response: ServerResponse, count: number): void;
  /** Seconds for which a token is good. */
  readonly expiresIn?: number;
  readonly scope?: string;
  /** By how much this server's clock is ahead. */
  readonly skewMs?: number;
  readonly recordsMax?: number;
  readonly bytesMax?: number;
  /** Batches with a record of the property POISON are taken like any other. */
  isMended?: boolean;
}

/**
 * A record of these tests. `broken` ones are invalid; those of the property FOREIGN are not the client's; a batch with one of the
 * property POISON is answered 500 until the server is mended.
 */
export interface TestRecord {
  readonly reservationId: string;
  readonly propertyCode?: string;
  readonly broken?: boolean;
}

/** A server that knows the protocol and does not keep to it: what it accepted, it remembers. */
export class HostileServer {
  readonly address: string;
  /** By reservationId, in how many accepted batches a record is. */
  readonly accepted = new Map<string, number>();
  /** When each data request came, in milliseconds. */
  readonly arrivals: number[] = [];
  tokenRequests = 0;
  tokensGiven = 0;
  /** Data requests that came with a token that had ended. */
  stale = 0;
  readonly #plan: HostilePlan;
  readonly #server: Server;
  readonly #answers = new Map<string, { readonly requestId: string; readonly body: string }>();
  readonly #tokens = new Map<string, number>();
  #dataRequests = 0;
  #gets = 0;

  private constructor(server: Server, plan: HostilePlan) {
    this.#server = server;
    this.#plan = plan;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(plan: HostilePlan = {}): Promise<HostileServer> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    return new HostileServer(server, plan);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  /** Every token is refused from now on. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  /** How many records are in more than one accepted batch. */
  get repeated(): number {
    return [...this.accepted.values()].filter((times) => times > 1).length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const skewMs = this.#plan.skewMs ?? 0;
    response.setHeader("date", new Date(Date.now() + skewMs).toUTCString());
    response.setHeader("x-request-id", `hostile-${this.#dataRequests}`);
    if (request.url === "/api/oauth2/token") return await this.#giveToken(request, response);
    if (request.method === "GET") {
      if (!this.#isAuthorised(request)) return this.#refuse(response, 403, 'Bearer error="invalid_token"');
      this.#plan.get?.(request, response, this.#gets++);
      return;
    }
    await this.#take(request, response);
  }

  async #giveToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await buffer(request);
    const misdeed = this.#plan.token?.(this.tokenRequests);
    this.tokenRequests += 1;
    if (misdeed === "a reset") return void request.socket.destroy();
    if (misdeed === "429" || misdeed === "503") {
      response.setHeader("retry-after", "0");
      return json(response, Number(misdeed), {
        error: "temporarily_unavailable",
        error_description: "rate limit exceeded",
      });
    }
    if (misdeed === "a wrong secret")
      return json(response, 401, { error: "invalid_client", error_description: "unknown client" });
    this.tokensGiven += 1;
    if (misdeed === "half a JSON") return void response.end('{"access_token":"tok');
    if (misdeed === "no token") return json(response, 200, { token_type: "Bearer" });
    const seconds = this.#plan.expiresIn ?? 3600;
    const token = `token-${this.tokensGiven}`;
    this.#tokens.set(`Bearer ${token}`, performance.now() + seconds * 1000);
    const { scope } = this.#plan;
    json(response, 200, {
      access_token: token,
      token_type: "Bearer",
      expires_in: seconds,
      ...(scope === undefined ? {} : { scope }),
    });
  }

  #isAuthorised(request: IncomingMessage): boolean {
    const until = this.#tokens.get(request.headers.authorization ?? "");
    if (until === undefined) return false;
    if (performance.now() > until) this.stale += 1;
    return performance.now() <= until;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const misdeed = this.#plan.data?.(this.#dataRequests);
    this.#dataRequests += 1;
    this.arrivals.push(performance.now());
    if (!this.#isAuthorised(request)) {
      await buffer(request);
      return this.#refuse(response, 403, 'Bearer error="invalid_token"');
    }
    if (misdeed === "a reset before") return void request.socket.destroy();
    const sent = await buffer(request);
    if (misdeed === "silence") return;
    if (misdeed !== undefined && this.#refuseBefore(misdeed, request, response)) return;
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    const refused = this.#judge(body.toString("utf8"));
    if (refused !== undefined) {
      if (refused.status === 403) return this.#refuse(response, 403, 'Bearer error="insufficient_scope"');
      return json(response, refused.status, refused);
    }
    const requestId = this.#keep(String(request.headers["idempotency-key"]), body.toString("utf8"));
    if (requestId === undefined)
      return json(response, 422, { exception: "bellhop.accept.IdempotencyKeyReused", message: "reused" });
    if (misdeed !== undefined && answerBadly(misdeed, requestId, request, response)) return;
    json(response, 202, { requestId });
  }

  #refuse(response: ServerResponse, status: number, challenge?: string): void {
    response.writeHead(status, challenge === undefined ? {} : { "www-authenticate": challenge }).end();
  }

  /** True when the request is answered by its misdeed, and nothing of it is kept. */
  #refuseBefore(misdeed: Misdeed, request: IncomingMessage, response: ServerResponse): boolean {
    const exceptions: Partial<Record<Misdeed, [status: number, exception: string, retryAfter?: string]>> = {
      "429 with Retry-After": [429, "bellhop.http.RateLimitExceeded", "1"],
      "429 without Retry-After": [429, "bellhop.http.RateLimitExceeded"],
      "429 with a date": [
        429,
        "bellhop.http.RateLimitExceeded",
        new Date(Date.now() + (this.#plan.skewMs ?? 0) + 1_000).toUTCString(),
      ],
      "503 with Retry-After": [503, "bellhop.accept.Unavailable", "0"],
      "500": [500, "bellhop.http.Internal"],
      "408": [408, "bellhop.http.RequestTimeout"],
    };
    const [status, exception, retryAfter] = exceptions[misdeed] ?? [];
    if (status !== undefined) {
      if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
      json(response, status, { exception, message: misdeed });
      return true;
    }
    if (misdeed === "502 from a proxy") response.writeHead(502).end("<html>Bad Gateway</html>");
    else if (misdeed === "401") this.#refuse(response, 401);
    else if (misdeed === "403 invalid_token" || misdeed === "403 without a reason") {
      this.#tokens.delete(request.headers.authorization ?? "");
      this.#refuse(
        response,
        403,
        misdeed === "403 without a reason" ? undefined : 'Bearer error="invalid_token"',
      );
    } else return false;
    return true;
  }

  #judge(body: string): { readonly status: number } | undefined {
    const { recordsMax = 10_000, bytesMax = 16_777_216 } = this.#plan;
    if (body.length > bytesMax) return error(413, "bellhop.http.PayloadTooLarge");
    let records: TestRecord[];
    try {
      records = JSON.parse(body) as TestRecord[];
    } catch {
      return error(400, "bellhop.contract.MalformedJson");
    }
    if (records.length > recordsMax) return error(400, "bellhop.contract.TooManyRecords");
    if (records.some(({ propertyCode }) => propertyCode === "FOREIGN")) return { status: 403 };
    if (this.#plan.isMended !== true && records.some(({ propertyCode }) => propertyCode === "POISON"))
      return error(500, "bellhop.http.Internal");
    const violations = records.flatMap(({ broken }, index) =>
      broken === true
        ? [{ pointer: `/${index}/status`, code: "required", message: "status is missing" }]
        : [],
    );
    if (violations.length === 0) return undefined;
    const listed = { violations: violations.slice(0, 3), violationTotal: violations.length };
    return { ...error(400, "bellhop.contract.InvalidRecords"), ...listed };
  }

  #keep(key: string, body: string): string | undefined {
    const known = this.#answers.get(key);
    if (known !== undefined) return known.body === body ? known.requestId : undefined;
    const requestId = `00000000-0000-7000-8000-${String(this.#answers.size).padStart(12, "0")}`;
    this.#answers.set(key, { requestId, body });
    for (const { reservationId } of JSON.parse(body) as TestRecord[])
      this.accepted.set(reservationId, (this.accepted.get(reservationId) ?? 0) + 1);
    return requestId;
  }
}

function error(status: number, exception: string): { status: number; exception: string; message: string } {
  return { status, exception, message: exception };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** True when the answer to an accepted batch is spoiled. */
function answerBadly(
  misdeed: Misdeed,
  requestId: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const whole = JSON.stringify({ requestId });
  if (misdeed === "silence after") return true;
  if (misdeed === "a reset after") request.socket.destroy();
  else if (misdeed === "a cut off answer after") {
    response.writeHead(202, { "content-length": String(whole.length) });
    response.write(whole.slice(0, 20), () => request.socket.destroy());
  } else if (misdeed === "half a JSON after") response.writeHead(202).end(whole.slice(0, 20));
  else if (misdeed === "a proxy's page instead of a 202 after")
    response.writeHead(200).end("<html>Welcome</html>");
  else if (misdeed === "a slow answer after") drip(response, whole);
  else return false;
  return true;
}

/** A byte at a time: slower than the client's patience, or just quick enough. */
function drip(response: ServerResponse, text: string): void {
  response.writeHead(202);
  let at = 0;
  const timer = setInterval(() => {
    response.write(text[at] ?? "");
    at += 1;
    if (at < text.length) return;
    clearInterval(timer);
    response.end();
  }, 2);
  response.once("close", () => clearInterval(timer));
}
