import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { ServiceError } from "../platform/errors/registry.ts";
import type { Authenticator, BearerResult } from "./authenticator.ts";
import { hasScope, type Principal } from "./permissions.ts";
import type { RateLimiter, RateResult } from "./rate-limiter.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by `authorize` after it has verified the bearer token and its scope. */
    principal?: Principal;
    /** Set by `authorize`, for `authorizeAgain`. */
    authorized?: { readonly scopes: readonly string[]; readonly version: number };
  }
}

/** What requests of clients are authenticated, authorised and limited with. */
export interface AdmissionContext {
  readonly authenticator: Pick<Authenticator, "verifyBearer" | "verifyAgain">;
  readonly rateLimiter: RateLimiter;
  /** The number of nodes for this kind of request, including this one. */
  nodes(role: "accept" | "read"): number;
  /** Notified of every 429 for a client's rate. Returns the wait in seconds that the answer asks for, which may be longer. */
  waitAfterTooMany(principal: Principal, retryAfterSeconds: number): number;
}

/** A response with an empty body (spec section 5, rule 8); WWW-Authenticate states the reason (RFC 6750 section 3.1). */
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

export function refuseEmpty(
  reply: FastifyReply,
  { status, challenge }: EmptyRefusal = BAD_TOKEN,
): FastifyReply {
  return reply.code(status).header("www-authenticate", challenge).header("content-length", "0").send();
}

/** The client lacks a scope or grant. `description` must not contain quotes. */
function forbidden(description: string, attributes = ""): EmptyRefusal {
  const challenge = `Bearer error="insufficient_scope", error_description="${description}"${attributes}`;
  return new EmptyRefusal(403, challenge);
}

/** The client has none of the scopes. The `scope` attribute distinguishes this from a missing grant. */
export function lacksScope(scopes: readonly string[]): EmptyRefusal {
  return forbidden(`The token lacks the scope ${scopes.join(" or ")}.`, `, scope="${scopes.join(" ")}"`);
}

const CODE_SHOWN_CHARACTERS_MAX = 64;

/** A sender's code for a quoted string: RFC 6750 allows printable ASCII except quote and backslash. */
function shownCode(code: string): string {
  return code.slice(0, CODE_SHOWN_CHARACTERS_MAX).replace(/[^\x20-\x7e]|["\\]/g, "?");
}

/** The client has no grant for the property named by the record at this index, or by the request. */
export function lacksGrant(clientCode: string, propertyCode: string, index?: number): EmptyRefusal {
  const subject = index === undefined ? "The request" : `Record ${index}`;
  const property = `${shownCode(clientCode)}/${shownCode(propertyCode)}`;
  return forbidden(`${subject} names the property ${property}, which is not granted to this client.`);
}

/** The client's request rate as RateLimit header fields (IETF draft). */
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

/** Scopes served by nodes with the read role. */
const READING: ReadonlySet<string> = new Set(["read", "insight:read", "webhooks"]);

/** Whether a request may proceed. Its rate has been charged unless it is `refused`. */
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
 * Checks a request in the contract's order: 401 no token, 403 invalid token, 403 scope (any of several suffices), 429 rate. Takes one
 * request from the rate, which is divided among the nodes that serve this kind of request.
 */
export function admit(context: AdmissionContext, scopes: readonly string[], bearer: BearerResult): Admission {
  if (bearer.kind === "absent") return { kind: "refused", refusal: NO_TOKEN };
  if (bearer.kind === "invalid") return { kind: "refused", refusal: BAD_TOKEN };
  const { principal } = bearer;
  if (!scopes.some((scope) => hasScope(principal, scope))) {
    return { kind: "refused", refusal: lacksScope(scopes) };
  }
  const { clientId, requestRate, requestBurst } = principal;
  // The first scope determines the kind of request.
  const nodes = context.nodes(READING.has(scopes[0] ?? "") ? "read" : "accept");
  const rate = context.rateLimiter.take(clientId, requestRate, requestBurst, nodes);
  if (rate.allowed) return { kind: "admitted", principal, rate };
  const error = new ServiceError("bellhop.http.RateLimitExceeded", {
    retryAfterSeconds: context.waitAfterTooMany(principal, rate.retryAfterSeconds),
  });
  return { kind: "limited", principal, rate, error };
}

/** Verifies a request's bearer token. More than one Authorization header is an error. */
export function verifyBearer(
  { authenticator }: AdmissionContext,
  { headers: { authorization }, socket }: IncomingMessage,
): BearerResult | Promise<BearerResult> {
  return authenticator.verifyBearer(authorization === undefined ? undefined : [authorization], socket);
}

/**
 * Creates a hook that runs `admit` before the body is read and sets `request.principal`. Synchronous if the token is cached, as it nearly
 * always is.
 */
export function authorize(context: AdmissionContext, scope: string | readonly string[]) {
  const scopes = typeof scope === "string" ? [scope] : scope;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const settle = (known: BearerResult) => {
      const admission = admit(context, scopes, known);
      if (admission.kind === "refused") {
        refuseEmpty(reply, admission.refusal);
        return;
      }
      const { principal, rate } = admission;
      const { policy, limit } = rateFields(principal, rate);
      reply.header("ratelimit-policy", policy).header("ratelimit", limit);
      if (admission.kind === "limited") {
        done(admission.error);
        return;
      }
      request.principal = principal;
      if (known.kind === "ok") request.authorized = { scopes, version: known.version };
      done();
    };
    const bearer = verifyBearer(context, request.raw);
    if (bearer instanceof Promise) bearer.then(settle, done);
    else settle(bearer);
  };
}

/**
 * Checks token and scope again after a long step, such as the body, and sets `request.principal` as of now. Throws EmptyRefusal. Grants
 * are the caller's to check.
 */
export async function authorizeAgain(context: AdmissionContext, request: FastifyRequest): Promise<Principal> {
  const { principal, authorized } = request;
  if (principal === undefined || authorized === undefined) throw NO_TOKEN;
  const current = await principalAgain(context, principal, authorized.version, authorized.scopes);
  request.principal = current;
  return current;
}

/** The principal as of now. Throws EmptyRefusal if its token was revoked or has none of the scopes. */
export function principalAgain(
  { authenticator }: AdmissionContext,
  principal: Principal,
  version: number,
  scopes: readonly string[],
): Principal | Promise<Principal> {
  const known = authenticator.verifyAgain(principal, version);
  // Nothing has changed, as for nearly every request.
  if (known === principal) return principal;
  const use = (current: Principal | undefined) => {
    if (current === undefined) throw BAD_TOKEN;
    if (!scopes.some((scope) => hasScope(current, scope))) throw lacksScope(scopes);
    return current;
  };
  return known instanceof Promise ? known.then(use) : use(known);
}
