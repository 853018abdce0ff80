import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import type { BearerResult } from "../auth/authenticator.ts";
import { hasScope, type Principal } from "../auth/principal.ts";
import { ServiceError } from "../errors/registry.ts";
import type { HttpContext } from "./context.ts";
import { sendError } from "./error-body.ts";
import { passOver } from "./receive-body.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by `authorize` once the bearer token was verified and its scope checked. */
    principal?: Principal;
  }
}

function refuseEmpty(reply: FastifyReply, status: 401 | 403, challenge: string): FastifyReply {
  passOver(reply.request.raw);
  return reply.code(status).header("www-authenticate", challenge).header("content-length", "0").send();
}

/** 403 with zero bytes (spec section 5, rule 8); the header tells which (RFC 6750 section 3.1). */
export function refuseForbidden(
  reply: FastifyReply,
  reason: "invalid_token" | "insufficient_scope",
): FastifyReply {
  return refuseEmpty(reply, 403, `Bearer error="${reason}"`);
}

/** Announces the client's request rate (IETF draft RateLimit header fields). */
function announceRate(
  reply: FastifyReply,
  principal: Principal,
  remaining: number,
  resetSeconds: number,
): void {
  const { requestRate, requestBurst } = principal;
  const windowSeconds = Math.max(1, Math.ceil(requestBurst / requestRate));
  reply.header("ratelimit-policy", `"requests";q=${requestBurst};w=${windowSeconds}`);
  reply.header("ratelimit", `"requests";r=${remaining};t=${resetSeconds}`);
}

/** Answers a request that may not pass: 401 no bearer token, 403 token, 403 scope, 429 rate. Undefined when it may. */
function refuse(
  context: HttpContext,
  scope: string,
  bearer: BearerResult,
  reply: FastifyReply,
): FastifyReply | undefined {
  if (bearer.kind === "absent") return refuseEmpty(reply, 401, 'Bearer realm="bellhop"');
  if (bearer.kind === "invalid") return refuseForbidden(reply, "invalid_token");
  const { principal } = bearer;
  if (!hasScope(principal, scope)) return refuseForbidden(reply, "insufficient_scope");
  const nodes = context.nodes(scope === "read" ? "read" : "accept");
  const { requestRate, requestBurst } = principal;
  const rate = context.rateLimiter.take(principal.clientId, requestRate, requestBurst, nodes);
  announceRate(reply, principal, rate.remaining, rate.resetSeconds);
  if (rate.allowed) return undefined;
  const error = new ServiceError("bellhop.http.RateLimitExceeded", {
    retryAfterSeconds: rate.retryAfterSeconds,
  });
  context.metrics.errors.inc({ code: error.code });
  return sendError(reply, error);
}

/**
 * A route's first checks, before its body is read, in the contract's order: 401 no bearer token, 403 token, 403 scope,
 * 429 rate. Leaves `request.principal`. No promise is made where the token is known already, as it nearly always is.
 */
export function authorize(context: HttpContext, scope: string) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    // There is at most one: two are a fault of framing.
    const { authorization } = request.headers;
    const bearer = context.authenticator.verifyBearer(
      authorization === undefined ? undefined : [authorization],
    );
    const settle = (known: BearerResult) => {
      if (refuse(context, scope, known, reply) !== undefined || known.kind !== "ok") return;
      request.principal = known.principal;
      done();
    };
    if (bearer instanceof Promise) bearer.then(settle, done);
    else settle(bearer);
  };
}
