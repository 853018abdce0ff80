import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { HttpContext } from "./context.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** When its headers had come, in milliseconds of `performance.now`. Not a number where no hook ran. */
    startedAtMs: number;
  }
}

/**
 * Logs and counts every request that was given an answer, once, when its response is over: written, or its client gone.
 * Fastify's `onResponse` hook knows only of those that were written, and a batch whose client did not wait for the 202
 * is on disk all the same.
 */
export function logRequests(app: FastifyInstance, context: HttpContext): void {
  const seen = new WeakSet<ServerResponse>();
  // Fastify measures `reply.elapsedTime` only where it has an `onResponse` hook: it is 0 otherwise.
  app.decorateRequest("startedAtMs", Number.NaN);
  app.addHook("onRequest", (request, _reply, done) => {
    request.startedAtMs = performance.now();
    done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    // A fault while an answer is made sends another one in its place.
    if (!seen.has(reply.raw)) {
      seen.add(reply.raw);
      whenOver(reply.raw, () => logRequest(context, request, reply));
    }
    done(null, payload);
  });
}

/** Calls back when the response has closed; soon after, when it had closed already. */
function whenOver(response: ServerResponse, over: () => void): void {
  if (response.closed) setImmediate(over);
  else response.once("close", over);
}

function logRequest(context: HttpContext, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? "unknown";
  // The router refuses an address that it cannot decode before any hook has run.
  const elapsedMs = Number.isNaN(request.startedAtMs) ? 0 : performance.now() - request.startedAtMs;
  context.metrics.requests.inc({ method: request.method, route, status: reply.statusCode });
  context.metrics.requestSeconds.observe({ route }, elapsedMs / 1000);
  const level = reply.statusCode >= 500 ? "error" : route.startsWith("/api/") ? "info" : "debug";
  // The route, never the address: an address can carry a key or a code.
  context.log[level](
    {
      httpRequestId: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(elapsedMs * 10) / 10,
      ...(reply.raw.writableFinished ? {} : { clientGone: true }),
      ...(request.principal === undefined ? {} : { clientId: request.principal.clientId }),
      ...(request.acceptedRequestId === undefined ? {} : { requestId: request.acceptedRequestId }),
      ...(request.headers["x-correlation-id"] === undefined
        ? {}
        : { correlationId: String(request.headers["x-correlation-id"]).slice(0, 128) }),
    },
    "request",
  );
}
