import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { HttpContext } from "./context.ts";

/**
 * Logs and counts every request that was given an answer, once, when its response is over: written, or its client gone.
 * Fastify's `onResponse` hook knows only of those that were written, and a batch whose client did not wait for the 202
 * is on disk all the same.
 */
export function logRequests(app: FastifyInstance, context: HttpContext): void {
  const seen = new WeakSet<ServerResponse>();
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
  const seconds = reply.elapsedTime / 1000;
  context.metrics.requests.inc({ method: request.method, route, status: reply.statusCode });
  context.metrics.requestSeconds.observe({ route }, seconds);
  const level = reply.statusCode >= 500 ? "error" : route.startsWith("/api/") ? "info" : "debug";
  // The route, never the address: an address can carry a key or a code.
  context.log[level](
    {
      httpRequestId: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
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
