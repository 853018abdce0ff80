import type { IncomingMessage } from "node:http";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isDatabaseOutage } from "../platform/db/database-errors.ts";
import { OAuthError } from "../platform/errors/oauth-error.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { SemaphoreFull } from "../platform/runtime/semaphore.ts";
import type { Addresses, AuthInternals } from "./authenticator.ts";
import { authenticateClient, type ClientRequest } from "./client-authentication.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import { parseForm, requireToken } from "./form.ts";
import { AUTH_PATHS, describeAuthorizationServer } from "./metadata.ts";
import { denyToken } from "./token-admin.ts";
import { grantToken, rateLimitHeaders, type TokenWatch } from "./token-endpoint.ts";

/** Retry-After while the database is unavailable. */
const OUTAGE_RETRY_SECONDS = 5;
/** Retry-After while too many requests wait. */
const BUSY_RETRY_SECONDS = 1;

/** Too many requests of the caller, or of all, wait. */
function busy(): OAuthError {
  return new OAuthError("temporarily_unavailable", "Too many requests are waiting. Try again later.", {
    headers: { "retry-after": String(BUSY_RETRY_SECONDS) },
  });
}

/** Renders an error as in RFC 6749 §5.2. Errors that are not OAuth's (405, a defect) go on to the application's error handler. */
function renderAuthError(
  error: FastifyError | OAuthError | ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const refusal = asOAuthError(error);
  if (refusal === undefined) throw error;
  if (refusal.status >= 500) request.log.error({ err: error }, "a token request could not be answered");
  reply
    .code(refusal.status)
    .headers(refusal.headers)
    // An error raised before this scope's hooks lacks these headers.
    .headers({ "cache-control": "no-store", pragma: "no-cache" })
    .type("application/json; charset=utf-8")
    .send({ error: refusal.code, error_description: refusal.message });
}

function asOAuthError(error: FastifyError | OAuthError | ServiceError): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  if (error instanceof SemaphoreFull || error.code === "bellhop.http.RateLimitExceeded") return busy();
  if (isDatabaseOutage(error) || error.code === "bellhop.accept.Unavailable") {
    return new OAuthError("temporarily_unavailable", "The service is unavailable. Try again later.", {
      status: 503,
      headers: { "retry-after": String(OUTAGE_RETRY_SECONDS) },
    });
  }
  switch (error.code) {
    case "bellhop.http.BadRequest":
      return new OAuthError("invalid_request", error.message);
    case "bellhop.http.PayloadTooLarge":
      return new OAuthError("invalid_request", "The form is too large.", { status: 413 });
    default:
      return undefined;
  }
}

/** Response to an introspection (RFC 7662 §2.2). An invalid token yields only `active: false`. */
type Introspection = { readonly active: false } | ({ readonly active: true } & Record<string, unknown>);

/** Introspects a token, for clients with the scope `introspect` only. */
async function introspectToken(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<Introspection> {
  const asker = await authenticateClient(request, internals, failures);
  if (!asker.scopes.includes("introspect"))
    throw new OAuthError("unauthorized_client", "This client may not introspect tokens.", { status: 403 });
  const good = await internals.readToken(requireToken(request.form));
  if (good === undefined) return { active: false };
  const { issuer, audience } = await internals.parties();
  const { token, client } = good;
  return {
    active: true,
    token_type: "Bearer",
    client_id: token.clientId,
    sub: token.clientId,
    // As at a data endpoint: without scopes that the client has lost.
    scope: token.scopes.filter((scope) => client.scopes.includes(scope)).join(" "),
    iss: issuer,
    aud: audience,
    iat: token.issuedAt,
    exp: token.expiresAt,
    jti: token.tokenId,
  };
}

/**
 * Revokes one of the client's own tokens (RFC 7009). An invalid or expired token counts as revoked (§2.2); another client's is refused
 * (§2.1). Takes effect on this node at once, on others within a second.
 */
async function revokeByClient(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<void> {
  const client = await authenticateClient(request, internals, failures);
  const text = requireToken(request.form);
  const good = await internals.readToken(text);
  if (good === undefined) return;
  if (good.token.clientId !== client.clientId) {
    throw new OAuthError("unauthorized_client", "This token was not issued to this client.");
  }
  const deny = () => denyToken(internals, good.token, `client:${client.clientId}`);
  await internals.changes.run(client.clientId, deny);
}

/** Fits the longest token, percent-encoded throughout, and the credentials. */
const FORM_BYTES_MAX = 8192;

const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

/** Parameters refused in the URI, which ends up in logs and histories. */
const NEVER_IN_THE_URI = ["client_id", "client_secret", "grant_type", "token", "access_token"];

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route only answers 405. */
    refuses?: boolean;
  }
}

export interface AuthRoutesOptions {
  readonly internals: AuthInternals;
  readonly addresses: () => Addresses;
  /** Shared by all endpoints and all threads of the process; each would otherwise allow another 20 guesses. */
  readonly failures: FailureLimiter;
  readonly watch?: TokenWatch;
  /** Reads the whole of a small body. */
  readonly receiveBody: (request: FastifyRequest, bytesMax: number) => Promise<Buffer>;
  /** The caller's address for the failure limit, also behind a proxy. */
  readonly clientAddress: (raw: IncomingMessage) => string;
}

/**
 * Registers the token, revocation, introspection, metadata and key endpoints in a separate scope: they accept forms only and return OAuth
 * errors. Responses are `no-store`; other methods get a 405 with `Allow`.
 */
export async function registerAuthRoutes(app: FastifyInstance, options: AuthRoutesOptions): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler(renderAuthError);
    scope.addHook("onRequest", async (_request, reply) => {
      reply.header("cache-control", "no-store").header("pragma", "no-cache");
    });
    addFormRoutes(scope, options);
    addDocumentRoutes(scope, options);
  });
}

function addFormRoutes(scope: FastifyInstance, options: AuthRoutesOptions): void {
  const { internals, failures, watch } = options;
  const addFormRoute = (path: string, handle: FormHandler) => routeForm(scope, path, options, handle);
  addFormRoute(AUTH_PATHS.token, async (request, reply) => {
    const { token, allowance } = await grantToken(request, internals, failures, watch);
    reply.headers(rateLimitHeaders(allowance));
    await internals.tidy();
    return {
      access_token: token.accessToken,
      token_type: "Bearer",
      expires_in: token.expiresInSeconds,
      scope: token.scopes.join(" "),
    };
  });
  addFormRoute(AUTH_PATHS.revoke, async (request, reply) => {
    await revokeByClient(request, internals, failures);
    return reply.code(200).send();
  });
  addFormRoute(AUTH_PATHS.introspect, (request) => introspectToken(request, internals, failures));
}

function addDocumentRoutes(scope: FastifyInstance, { internals, addresses }: AuthRoutesOptions): void {
  scope.get(AUTH_PATHS.metadata, async () => describeAuthorizationServer(addresses()));
  refuseOtherMethods(scope, AUTH_PATHS.metadata, ["GET", "HEAD"]);
  scope.get(AUTH_PATHS.keys, async () => {
    await internals.directory.freshen();
    return { keys: internals.directory.liveKeys().map((key) => key.publicJwk) };
  });
  refuseOtherMethods(scope, AUTH_PATHS.keys, ["GET", "HEAD"]);
}

type FormHandler = (request: ClientRequest, reply: FastifyReply) => Promise<unknown>;

function routeForm(
  scope: FastifyInstance,
  path: string,
  { clientAddress, receiveBody }: AuthRoutesOptions,
  handle: FormHandler,
): void {
  scope.post(path, async (request, reply) => {
    requireNothingInUri(request);
    requireFormType(request);
    const body = await receiveBody(request, FORM_BYTES_MAX);
    const authorization = request.raw.headersDistinct["authorization"];
    const address = clientAddress(request.raw);
    return handle({ authorization, form: parseForm(body), address }, reply);
  });
  refuseOtherMethods(scope, path, ["POST"]);
}

function requireNothingInUri(request: FastifyRequest): void {
  const question = request.url.indexOf("?");
  if (question < 0) return;
  const query = new URLSearchParams(request.url.slice(question));
  if (NEVER_IN_THE_URI.some((name) => query.has(name))) {
    throw new OAuthError("invalid_request", "Send parameters in the body, never in the URL.");
  }
}

function requireFormType({ headers }: FastifyRequest): void {
  const plain = (headers["content-encoding"] ?? "identity").toLowerCase() === "identity";
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (plain && type === FORM_MEDIA_TYPE) return;
  throw new OAuthError("invalid_request", `Send the parameters as ${FORM_MEDIA_TYPE}.`, { status: 415 });
}

/** Answers 405 to every other method before its body is read. */
function refuseOtherMethods(scope: FastifyInstance, path: string, allowed: readonly string[]): void {
  scope.route({
    method: scope.supportedMethods.filter((method) => !allowed.includes(method)),
    url: path,
    config: { refuses: true },
    onRequest: async (_request, reply) => {
      reply.header("allow", allowed.join(", "));
      throw new ServiceError("bellhop.http.MethodNotAllowed");
    },
    handler: async () => undefined,
  });
}
