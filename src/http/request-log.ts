import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HttpContext } from "./context.ts";
import { earlyRequestOf } from "./early-request.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** When its headers had come, in milliseconds of `performance.now`. Not a number where no hook ran. */
    startedAtMs: number;
  }
}

/** What the log line of a request says beside its answer. */
export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  /** The route, never the address: an address can carry a key or a code. */
  readonly route: string;
  readonly startedAtMs: number;
  readonly clientId: string | undefined;
  /** The UUID a batch was answered with. */
  readonly acceptedRequestId: string | undefined;
  readonly correlationId: string | string[] | undefined;
  /** Who asked; said only where the answer is a refusal, as the addresses of partners who do nothing wrong are nobody's business. */
  readonly address?: string;
}

/** Whoever is answered so may be guessing, or a partner who has to be told. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

interface Meters {
  count(): void;
  time(seconds: number): void;
}

/**
 * Logs and counts every request that was given an answer, once, when its response is over: written, or its client gone.
 * Fastify's `onResponse` hook knows only of those that were written, and a batch whose client did not wait for the 202
 * is on disk all the same.
 */
export class RequestLog {
  readonly #context: Pick<HttpContext, "log" | "metrics" | "clientAddress">;
  /** By method, route and status, of which there are so many. */
  readonly #meters = new Map<string, Meters>();

  constructor(context: Pick<HttpContext, "log" | "metrics" | "clientAddress">) {
    this.#context = context;
  }

  /** The address of whoever sent it. */
  addressOf(raw: IncomingMessage): string {
    return this.#context.clientAddress(raw);
  }

  /** `describe` is called when the response is over: soon after, when it was already. */
  whenOver(response: ServerResponse, describe: () => LoggedRequest): void {
    const over = () => this.#write(response, describe());
    if (response.closed) setImmediate(over);
    else response.once("close", over);
  }

  #write(response: ServerResponse, request: LoggedRequest): void {
    const { method, route, acceptedRequestId, clientId, correlationId, address } = request;
    const { statusCode } = response;
    const elapsedMs = performance.now() - request.startedAtMs;
    const meters = this.#metersOf(method, route, statusCode);
    meters.count();
    meters.time(elapsedMs / 1000);
    const level = statusCode >= 500 ? "error" : route.startsWith("/api/") ? "info" : "debug";
    this.#context.log[level](
      {
        httpRequestId: request.id,
        method,
        route,
        status: statusCode,
        ms: Math.round(elapsedMs * 10) / 10,
        ...(response.writableFinished ? {} : { clientGone: true }),
        ...(clientId === undefined ? {} : { clientId }),
        ...(acceptedRequestId === undefined ? {} : { requestId: acceptedRequestId }),
        ...(address === undefined || !REFUSALS.has(statusCode) ? {} : { address }),
        ...(correlationId === undefined ? {} : { correlationId: String(correlationId).slice(0, 128) }),
      },
      "request",
    );
  }

  #metersOf(method: string, route: string, status: number): Meters {
    const key = `${method} ${status} ${route}`;
    let meters = this.#meters.get(key);
    if (meters === undefined) {
      const requests = this.#context.metrics.requests.labels({ method, route, status });
      const seconds = this.#context.metrics.requestSeconds.labels({ route });
      meters = { count: () => requests.inc(), time: (taken) => seconds.observe(taken) };
      this.#meters.set(key, meters);
    }
    return meters;
  }
}

/** Logs and counts what the framework answers. */
export function logRequests(app: FastifyInstance, requestLog: RequestLog): void {
  const seen = new WeakSet<ServerResponse>();
  // Fastify measures `reply.elapsedTime` only where it has an `onResponse` hook: it is 0 otherwise.
  app.decorateRequest("startedAtMs", Number.NaN);
  app.addHook("onRequest", (request, _reply, done) => {
    request.startedAtMs = earlyRequestOf(request.raw)?.startedAtMs ?? performance.now();
    done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    // A fault while an answer is made sends another one in its place.
    if (!seen.has(reply.raw)) {
      seen.add(reply.raw);
      // A connection that has ended does not know its address any more.
      const address = requestLog.addressOf(request.raw);
      requestLog.whenOver(reply.raw, () => ({ ...describe(request), address }));
    }
    done(null, payload);
  });
}

function describe(request: FastifyRequest): LoggedRequest {
  const { id, method, startedAtMs } = request;
  return {
    id,
    method,
    route: request.routeOptions.url ?? "unknown",
    // The router refuses an address that it cannot decode before any hook has run.
    startedAtMs: Number.isNaN(startedAtMs) ? performance.now() : startedAtMs,
    clientId: request.principal?.clientId,
    acceptedRequestId: request.acceptedRequestId,
    correlationId: request.headers["x-correlation-id"],
  };
}
