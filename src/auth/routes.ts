import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../errors/registry.ts";
import type { Addresses, AuthInternals } from "./authenticator.ts";
import type { ClientRequest } from "./client-authentication.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import { parseForm } from "./form.ts";
import { introspectToken } from "./introspection-endpoint.ts";
import { AUTH_PATHS, describeAuthorizationServer } from "./metadata.ts";
import { OAuthError } from "./oauth-error.ts";
import { renderAuthError } from "./render-auth-error.ts";
import { revokeByClient } from "./revocation-endpoint.ts";
import { grantToken, rateLimitHeaders, type TokenWatch } from "./token-endpoint.ts";

/** A token of the greatest length, each character percent-encoded, beside the credentials. */
const FORM_BYTES_MAX = 8192;

const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

/** What must never stand in an address, which ends up in logs and histories. */
const NEVER_IN_THE_URI = ["client_id", "client_secret", "grant_type", "token", "access_token"];

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route only refuses methods that its address does not take. */
    refuses?: boolean;
  }
}

export interface AuthRoutesOptions {
  readonly internals: AuthInternals;
  readonly addresses: () => Addresses;
  /** One for all endpoints and all threads of the process, or each would give a guesser another 20. */
  readonly failures: FailureLimiter;
  readonly watch?: TokenWatch;
  /** Receives the whole of a small body. */
  readonly receiveBody: (request: FastifyRequest, bytesMax: number) => Promise<Buffer>;
  /** Whose request it is, for the limit of failures: another's than the connection's behind a proxy. */
  readonly clientAddress: (raw: IncomingMessage) => string;
}

/**
 * Registers the token endpoint, revocation, introspection, metadata and keys, in a scope of their own: they
 * take forms alone, and their errors are those of OAuth. Everything is `no-store`; other methods are 405 with `Allow`.
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
    throw new OAuthError("invalid_request", "Send parameters in the body, never in the address.");
  }
}

function requireFormType({ headers }: FastifyRequest): void {
  const plain = (headers["content-encoding"] ?? "identity").toLowerCase() === "identity";
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (plain && type === FORM_MEDIA_TYPE) return;
  throw new OAuthError("invalid_request", `Send the parameters as ${FORM_MEDIA_TYPE}.`, { status: 415 });
}

/** Answers every other method before its body is looked at. */
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
