import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { waitAfterTooMany } from "../certification/note-wire.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { SharedTable } from "../platform/runtime/shared-memory.ts";
import { monotonicNow } from "../platform/runtime/time.ts";
import type { HttpContext } from "../service-context.ts";
import type { BearerResult } from "./authenticator.ts";
import { hasScope, type Principal } from "./permissions.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by `authorize` once the bearer token was verified and its scope checked. */
    principal?: Principal;
  }
}

/** An answer of zero bytes (spec section 5, rule 8); its header tells the reason (RFC 6750 section 3.1). */
export class EmptyRefusal extends Error {
  readonly status: 401 | 403;
  /** The value of WWW-Authenticate. */
  readonly challenge: string;

  constructor(status: 401 | 403, challenge: string) {
    super(challenge);
    this.status = status;
    this.challenge = challenge;
  }
}

const NO_TOKEN = new EmptyRefusal(401, 'Bearer realm="bellhop"');
const BAD_TOKEN = new EmptyRefusal(403, 'Bearer error="invalid_token"');
/** The client has not the scope, or was not granted the property. */
export const FORBIDDEN = new EmptyRefusal(403, 'Bearer error="insufficient_scope"');

function refuseEmpty(reply: FastifyReply, { status, challenge }: EmptyRefusal): FastifyReply {
  return reply.code(status).header("www-authenticate", challenge).header("content-length", "0").send();
}

export function refuseForbidden(
  reply: FastifyReply,
  reason: "invalid_token" | "insufficient_scope",
): FastifyReply {
  return refuseEmpty(reply, reason === "invalid_token" ? BAD_TOKEN : FORBIDDEN);
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

function announceRate(reply: FastifyReply, principal: Principal, rate: RateResult): void {
  const { policy, limit } = rateFields(principal, rate);
  reply.header("ratelimit-policy", policy).header("ratelimit", limit);
}

/** Scopes of what the nodes answer that are there for reading. */
const READING: ReadonlySet<string> = new Set(["read", "insight:read", "webhooks"]);

/** Whether a request may pass. Its rate was asked unless it is `refused`. */
export type Admission =
  | { readonly kind: "admitted"; readonly principal: Principal; readonly rate: RateResult }
  | {
      readonly kind: "limited";
      readonly principal: Principal;
      readonly rate: RateResult;
      readonly error: ServiceError;
    }
  | { readonly kind: "refused"; readonly refusal: EmptyRefusal };

/**
 * Judges a request by its bearer token, in the contract's order: 401 no token, 403 token, 403 scope (one of several is enough), 429
 * rate, of which it takes one request; each node that serves its kind of requests grants a part of the rate.
 */
export function admit(context: HttpContext, scopes: readonly string[], bearer: BearerResult): Admission {
  if (bearer.kind === "absent") return { kind: "refused", refusal: NO_TOKEN };
  if (bearer.kind === "invalid") return { kind: "refused", refusal: BAD_TOKEN };
  const { principal } = bearer;
  if (!scopes.some((scope) => hasScope(principal, scope))) return { kind: "refused", refusal: FORBIDDEN };
  const { clientId, requestRate, requestBurst, certificationId } = principal;
  // The first of several says which kind of request it is.
  const nodes = context.nodes(READING.has(scopes[0] ?? "") ? "read" : "accept");
  const rate = context.rateLimiter.take(clientId, requestRate, requestBurst, nodes);
  if (rate.allowed) return { kind: "admitted", principal, rate };
  const error = new ServiceError("bellhop.http.RateLimitExceeded", {
    retryAfterSeconds: waitAfterTooMany(context, certificationId, rate.retryAfterSeconds),
  });
  return { kind: "limited", principal, rate, error };
}

/** Reads the bearer token of a request, of which there is at most one: two are a fault of framing. */
export function verifyBearer(
  { authenticator }: HttpContext,
  { authorization }: IncomingHttpHeaders,
): BearerResult | Promise<BearerResult> {
  return authenticator.verifyBearer(authorization === undefined ? undefined : [authorization]);
}

/**
 * A route's first checks, before its body is read (`admit`); leaves `request.principal`. No promise is made where the token is known
 * already, as it nearly always is.
 */
export function authorize(context: HttpContext, scope: string | readonly string[]) {
  const scopes = typeof scope === "string" ? [scope] : scope;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const settle = (known: BearerResult) => {
      const admission = admit(context, scopes, known);
      if (admission.kind === "refused") {
        refuseEmpty(reply, admission.refusal);
        return;
      }
      const { principal, rate } = admission;
      announceRate(reply, principal, rate);
      if (admission.kind === "limited") {
        done(admission.error);
        return;
      }
      request.principal = principal;
      done();
    };
    const bearer = verifyBearer(context, request.headers);
    if (bearer instanceof Promise) bearer.then(settle, done);
    else settle(bearer);
  };
}

/** How a request fared against its client's rate. */
export interface RateResult {
  readonly allowed: boolean;
  /** Requests the client could still send at once. */
  readonly remaining: number;
  /** Seconds until at least one more request may be sent than now (`t` of the RateLimit header). */
  readonly resetSeconds: number;
  /** Seconds to wait when refused, at least 1 (Retry-After); 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export interface RateLimiter {
  /**
   * Takes one request from this node's share of the client's bucket: `rate` come back every second, `burst` fit in, and
   * each of `nodes` gives its part of both, but never less than room for one request.
   */
  take(clientId: string, rate: number, burst: number, nodes?: number): RateResult;
  /**
   * Counts `more` requests of a client without refusing any: what a request that was let in turned out to weigh. Beyond what
   * is in the bucket it is a debt, and until that is paid off `take` refuses.
   */
  charge(clientId: string, more: number, rate: number, burst: number, nodes?: number): RateResult;
}

/**
 * Buckets kept. A client's bucket of 40 bytes is pushed out only when others of its set were used since, and is then full
 * again: with the default rate and burst an idle bucket is full after 2 s anyway.
 */
const SHAPE = { rows: 50_000, numbers: 2 } as const;

/** When a client's bucket will be full again, in ms of the clock (GCRA: one number is the whole bucket). */
const FULL_AT = 0;
/** When it would be full again after the last charge that left a debt: a debt beyond it is one of a burst that was lowered. */
const OWED_UNTIL = 1;

/** Memory for the buckets of one process, which all its threads share. */
export function allocateRates(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

/**
 * Makes the limiter of request rates, one bucket a client, in the memory of this node (asking the database at every
 * request would cost more than the request): whichever of its threads the requests come to, their sum is limited. What
 * is kept is when the bucket is full, in time, which means the same whatever share of the bucket this node's is.
 */
export function createRateLimiter(clock: () => number = monotonicNow, memory = allocateRates()): RateLimiter {
  const buckets = new SharedTable(memory, SHAPE);
  const use = (change: Change, clientId: string, rate: number, burst: number, nodes: number): RateResult => {
    const now = clock();
    const refillMs = (1000 * nodes) / rate;
    const emptyAt = now + Math.max(1, burst / nodes) * refillMs;
    const taken = buckets.use(clientId, now, (bucket) => {
      const fullAt = bucket.isNew ? now : bucket.get(FULL_AT);
      const owedUntil = bucket.isNew ? now : bucket.get(OWED_UNTIL);
      // A burst that was lowered meanwhile leaves an empty bucket, not a debt.
      const at = Math.min(Math.max(fullAt, now), Math.max(emptyAt, owedUntil)) + refillMs * change.requests;
      // A billionth of a request makes up for the rounding of sums of fractions.
      const allowed = change.isOwed || at <= emptyAt + refillMs * 1e-9;
      bucket.set(FULL_AT, allowed ? at : at - refillMs * change.requests);
      if (change.isOwed) bucket.set(OWED_UNTIL, at);
      return { allowed, at };
    });
    if (taken === undefined) throw new Error("A client has no bucket, though any other may go for it.");
    const { allowed, at } = taken;
    const missingMs = at - emptyAt;
    if (!allowed) {
      const waitSeconds = Math.max(1, Math.ceil(missingMs / 1000));
      return { allowed, remaining: 0, resetSeconds: waitSeconds, retryAfterSeconds: waitSeconds };
    }
    const remaining = Math.max(0, Math.floor(-missingMs / refillMs + 1e-9));
    const resetSeconds = Math.max(1, Math.ceil((Math.max(0, missingMs) + refillMs) / 1000));
    return { allowed, remaining, resetSeconds, retryAfterSeconds: 0 };
  };
  return {
    take: (clientId, rate, burst, nodes = 1) =>
      use({ requests: 1, isOwed: false }, clientId, rate, burst, nodes),
    charge: (clientId, more, rate, burst, nodes = 1) =>
      use({ requests: more, isOwed: true }, clientId, rate, burst, nodes),
  };
}

/** So many requests; owed ones are never refused. */
interface Change {
  readonly requests: number;
  readonly isOwed: boolean;
}
