import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { waitAfterTooMany } from "../certification/note-wire.ts";
import { type EarlyRequest, earlyRequestOf } from "../early-request.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { sendError } from "../platform/http/error-body.ts";
import type { HttpContext } from "../service-context.ts";
import type { BearerResult } from "./authenticator.ts";
import { hasScope, type Principal } from "./principal.ts";
import type { RateResult } from "./rate-limiter.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by `authorize` once the bearer token was verified and its scope checked. */
    principal?: Principal;
  }
}

function refuseEmpty(reply: FastifyReply, status: 401 | 403, challenge: string): FastifyReply {
  return reply.code(status).header("www-authenticate", challenge).header("content-length", "0").send();
}

/** 403 with zero bytes (spec section 5, rule 8); the header tells which (RFC 6750 section 3.1). */
export function refuseForbidden(
  reply: FastifyReply,
  reason: "invalid_token" | "insufficient_scope",
): FastifyReply {
  return refuseEmpty(reply, 403, `Bearer error="${reason}"`);
}

/** The client's request rate as it is announced (IETF draft RateLimit header fields). */
export function rateFields(
  { requestRate, requestBurst }: Principal,
  { remaining, resetSeconds }: RateResult,
): { readonly policy: string; readonly limit: string } {
  const windowSeconds = Math.max(1, Math.ceil(requestBurst / requestRate));
  return {
    policy: `"requests";q=${requestBurst};w=${windowSeconds}`,
    limit: `"requests";r=${remaining};t=${resetSeconds}`,
  };
}

export function announceRate(reply: FastifyReply, principal: Principal, rate: RateResult): void {
  const { policy, limit } = rateFields(principal, rate);
  reply.header("ratelimit-policy", policy).header("ratelimit", limit);
}

/** Scopes of what the nodes answer that are there for reading. */
const READING: ReadonlySet<string> = new Set(["read", "insight:read", "webhooks"]);

/** Takes one request of the client's rate, of which each node that has its kind of requests gives a part. */
export function takeRate(
  { nodes, rateLimiter }: HttpContext,
  { clientId, requestRate, requestBurst }: Principal,
  scope: string,
): RateResult {
  return rateLimiter.take(clientId, requestRate, requestBurst, nodes(READING.has(scope) ? "read" : "accept"));
}

/** Answers a request that may not pass: 401 no bearer token, 403 token, 403 scope, 429 rate. Undefined when it may. */
function refuse(
  context: HttpContext,
  scopes: readonly string[],
  bearer: BearerResult,
  early: EarlyRequest | undefined,
  reply: FastifyReply,
): FastifyReply | undefined {
  if (bearer.kind === "absent") return refuseEmpty(reply, 401, 'Bearer realm="bellhop"');
  if (bearer.kind === "invalid") return refuseForbidden(reply, "invalid_token");
  const { principal } = bearer;
  if (!scopes.some((scope) => hasScope(principal, scope)))
    return refuseForbidden(reply, "insufficient_scope");
  // The first of several says which kind of request it is.
  const rate = early?.rate ?? takeRate(context, principal, scopes[0] ?? "");
  announceRate(reply, principal, rate);
  if (rate.allowed) return undefined;
  const error = new ServiceError("bellhop.http.RateLimitExceeded", {
    retryAfterSeconds: waitAfterTooMany(context, principal.certificationId, rate.retryAfterSeconds),
  });
  context.metrics.errors.inc({ code: error.code });
  return sendError(reply, error);
}

/** Reads the bearer token of a request, of which there is at most one: two are a fault of framing. */
export function verifyBearer(
  { authenticator }: HttpContext,
  { authorization }: IncomingHttpHeaders,
): BearerResult | Promise<BearerResult> {
  return authenticator.verifyBearer(authorization === undefined ? undefined : [authorization]);
}

/**
 * A route's first checks, before its body is read, in the contract's order: 401 no bearer token, 403 token, 403 scope,
 * 429 rate. Of several scopes one is enough. Leaves `request.principal`. No promise is made where the token is known already, as it nearly always is.
 */
export function authorize(context: HttpContext, scope: string | readonly string[]) {
  const scopes = typeof scope === "string" ? [scope] : scope;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    // Who was let in stays so until the answer: what was accepted is answered 202, whatever was revoked meanwhile.
    const early = earlyRequestOf(request.raw);
    const bearer = early?.bearer ?? verifyBearer(context, request.headers);
    const settle = (known: BearerResult) => {
      if (refuse(context, scopes, known, early, reply) !== undefined || known.kind !== "ok") return;
      request.principal = known.principal;
      done();
    };
    if (bearer instanceof Promise) bearer.then(settle, done);
    else settle(bearer);
  };
}
