import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { waitAfterTooMany } from "../certification/note-wire.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { HttpContext } from "../service-context.ts";
import type { BearerResult, RateResult } from "./authenticator.ts";
import { hasScope, type Principal } from "./permissions.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by `authorize` once the bearer token was verified and its scope checked. */
    principal?: Principal;
  }
}

/** An answer of zero bytes (spec section 5, rule 8); its header states the reason (RFC 6750 section 3.1). */
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

/** The client lacks the scope or the grant that the description names: a text of ours without quotes. */
function forbidden(description: string, attributes = ""): EmptyRefusal {
  const challenge = `Bearer error="insufficient_scope", error_description="${description}"${attributes}`;
  return new EmptyRefusal(403, challenge);
}

/** The client has none of the scopes. Programs tell it by the attribute `scope` from the lack of a grant. */
export function lacksScope(scopes: readonly string[]): EmptyRefusal {
  return forbidden(`The token lacks the scope ${scopes.join(" or ")}.`, `, scope="${scopes.join(" ")}"`);
}

const CODE_SHOWN_CHARACTERS_MAX = 64;

/** A sender's code within a quoted string: RFC 6750 allows printable ASCII there without the quote and the backslash. */
function shownCode(code: string): string {
  return code.slice(0, CODE_SHOWN_CHARACTERS_MAX).replace(/[^\x20-\x7e]|["\\]/g, "?");
}

/** The client was not granted the property, which the record of this index names, or the request itself. */
export function lacksGrant(clientCode: string, propertyCode: string, index?: number): EmptyRefusal {
  const subject = index === undefined ? "The request" : `Record ${index}`;
  const property = `${shownCode(clientCode)}/${shownCode(propertyCode)}`;
  return forbidden(`${subject} names the property ${property}, which is not granted to this client.`);
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
  if (!scopes.some((scope) => hasScope(principal, scope))) {
    return { kind: "refused", refusal: lacksScope(scopes) };
  }
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
      const { policy, limit } = rateFields(principal, rate);
      reply.header("ratelimit-policy", policy).header("ratelimit", limit);
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
