import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findSession, isCsrfTokenOf, type OperatorSession } from "../identity/operator-sessions.ts";
import { isAllowed, leastRoleFor, type Permission } from "../identity/roles.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { ConflictError, InputError, NotFoundError } from "../platform/errors/operator-error.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { BuiltFiles } from "../platform/http/built-files.ts";
import { sendError } from "../platform/http/error-body.ts";
import { isLoopback } from "../platform/http/networks.ts";
import { SemaphoreFull } from "../platform/runtime/semaphore.ts";
import type { ConsoleParts } from "./console-parts.ts";
import { readCookie } from "./cookie.ts";

export const CONSOLE_API = "/console/api";

/** CSRF_HEADER in packages/console/src/contract.ts. */
const CSRF_HEADER = "x-bellhop-csrf";

/** Paths polled automatically by pages: they do not keep a session alive. */
const POLLED: ReadonlySet<string> = new Set([
  "/console/api/attention",
  "/console/api/intake",
  "/console/api/session",
  "/console/api/subscriptions",
  "/console/api/backfills/:backfillId",
  "/console/api/backfills/:backfillId/gaps",
  "/console/api/certifications/:certificationId",
  "/console/api/webhooks",
  "/console/api/webhooks/:endpointId",
]);

/** The session of the request's cookie; undefined if there is none. */
export async function sessionOf(
  parts: ConsoleParts,
  request: FastifyRequest,
): Promise<OperatorSession | undefined> {
  const cookie = parts.cookie();
  const id = cookie === undefined ? undefined : readCookie(request.headers.cookie, cookie.name);
  if (id === undefined) return undefined;
  const isActive = !POLLED.has(request.routeOptions.url ?? "");
  return findSession(parts.context.pool, id, { isActive });
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The permission that a console route requires; `public` requires no login. */
    permission?: Permission | "public";
  }
}

/**
 * Guards every route of the console's API by the permission that it declares. A route without one fails the start. Sets `request.operator`
 * to the session with its current role and scope.
 */
export function guardRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  scope.addHook("onRoute", ({ url, config }) => {
    if (url.startsWith(CONSOLE_API) && config?.permission === undefined)
      throw new Error(`The console's route ${url} declares no permission.`);
  });
  scope.addHook("onRequest", async (request) => {
    requireOwnHost(parts, request);
    const { permission = "public" } = request.routeOptions.config;
    if (permission !== "public") await requireOperator(parts, request, permission);
  });
}

/** An operator who was checked longer ago is checked again before an answer. */
const CHECKED_MS_MAX = 1_000;

/** The operator of a request that was checked at `checkedAt`, and waited for its turn since then. */
export async function operatorAfterWait(
  parts: ConsoleParts,
  request: FastifyRequest,
  permission: Permission,
  checkedAt: number,
): Promise<OperatorSession> {
  const isOld = performance.now() - checkedAt > CHECKED_MS_MAX;
  return isOld ? requireOperator(parts, request, permission) : operatorOf(request);
}

/**
 * Sets `request.operator` to the session with its current role and scope, and returns it. Throws ConsoleError without a session or the
 * permission. Repeated after every long wait: for a body, or for a turn.
 */
export async function requireOperator(
  parts: ConsoleParts,
  request: FastifyRequest,
  permission: Permission,
): Promise<OperatorSession> {
  const session = await sessionOf(parts, request);
  if (session === undefined) throw new ConsoleError("bellhop.console.NotLoggedIn");
  request.operator = session;
  if (isAllowed(session.role, permission)) return session;
  throw new ConsoleError("bellhop.console.NotAllowed", {
    message: `This requires the role ${leastRoleFor(permission)}; yours is ${session.role}.`,
  });
}

/** The operator of a guarded request. */
export function operatorOf({ operator }: FastifyRequest): OperatorSession {
  if (operator === undefined) throw new ConsoleError("bellhop.console.NotLoggedIn");
  return operator;
}

/** Throws NotFound for a property, or (null) a whole client code, outside the operator's scope, as for an unknown one. */
export function requireInScope(
  { scope }: OperatorSession,
  clientCode: string,
  propertyCode: string | null,
): void {
  if (propertyCode === null ? scope.permitsClientCode(clientCode) : scope.permits(clientCode, propertyCode))
    return;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No property has these codes." });
}

/**
 * Refuses a change from another site's page. Browsers send a request's origin (Fetch metadata, otherwise Origin), which pages cannot
 * change; a request without either is not from a browser.
 */
export function requireOwnOrigin(parts: ConsoleParts, request: FastifyRequest): void {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  if (site !== undefined && site !== "same-origin") throw new ConsoleError("bellhop.console.Forged");
  if (origin === undefined) return;
  const from = URL.canParse(origin) ? new URL(origin) : undefined;
  const isOwn = from !== undefined && (from.origin === new URL(parts.baseUrl()).origin || from.host === host);
  if (!isOwn) throw new ConsoleError("bellhop.console.Forged");
}

/**
 * Refuses a host other than BASE_URL's and this machine's own. Otherwise a site whose name resolves to this address (DNS rebinding) could
 * act as the console.
 */
function requireOwnHost(parts: ConsoleParts, { headers }: FastifyRequest): void {
  const host = `http://${headers.host}`;
  const name = URL.canParse(host) ? new URL(host).hostname : "";
  const own = new URL(parts.baseUrl());
  if (name === own.hostname || isLoopback(name)) return;
  throw new ConsoleError("bellhop.console.WrongHost", {
    message: `The console does not accept this host. Open ${own.origin}/console, or set BASE_URL to the address that you use.`,
  });
}

/** Refuses a change without the session's token, which only the console's pages can read. */
export function requireCsrfToken(request: FastifyRequest): void {
  const token = request.headers[CSRF_HEADER];
  if (typeof token !== "string" || !isCsrfTokenOf(operatorOf(request), token))
    throw new ConsoleError("bellhop.console.Forged");
}

/** Only the app's own files: nothing external, nothing inline, no frames. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Bellhop console</title></head>
<body>
<h1>The console is not built yet</h1>
<p>The service runs; only its console is missing. <code>npm start</code> builds it when the packages can be fetched, and
<code>npm run console:build</code> builds only the console, also while the service runs. Then load this page again.</p>
</body>
</html>
`;

async function answer(files: BuiltFiles, path: string, request: FastifyRequest, reply: FastifyReply) {
  if (path !== "" && (await files.has(path)) === true) return files.send(path, request, reply);
  // Missing files of an older build and unknown API paths must not return the page.
  if (/^(?:assets|api)(?:\/|$)/.test(path) || /\.[a-z0-9]+$/.test(path))
    throw new ServiceError("bellhop.http.NotFound");
  // The app routes by URL, so every deep link returns its page.
  if ((await files.has("index.html")) === true) return files.send("index.html", request, reply);
  return reply.code(503).header("cache-control", "no-store").type("text/html; charset=utf-8").send(NOT_BUILT);
}

/** Serves the built app under `/console`: hashed files, cached permanently, and the page for every other path. */
export function addAppRoutes(scope: FastifyInstance, directory: string): void {
  const files = new BuiltFiles(directory, "no-cache");
  const policy = async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY);
  };
  scope.get("/console", { onRequest: policy }, (request, reply) => answer(files, "", request, reply));
  scope.get("/console/*", { onRequest: policy }, (request, reply) =>
    answer(files, (request.params as { "*": string })["*"], request, reply),
  );
}

/** Retry-After while the console is busy. */
const BUSY_RETRY_SECONDS = 2;

/** Renders the console's own errors; passes others to the application's handler. */
export function renderConsoleError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const refusal = asConsoleError(error);
  if (refusal === undefined) throw error;
  sendError(reply, refusal);
}

const REFUSALS = [
  [InputError, "bellhop.console.InvalidInput"],
  [NotFoundError, "bellhop.console.NotFound"],
  [ConflictError, "bellhop.console.Conflict"],
] as const;

function asConsoleError(error: unknown): ConsoleError | undefined {
  if (error instanceof ConsoleError) return error;
  for (const [kind, code] of REFUSALS)
    if (error instanceof kind) return new ConsoleError(code, { message: error.message, cause: error });
  if (error instanceof SemaphoreFull) {
    return new ConsoleError("bellhop.console.Busy", { cause: error, retryAfterSeconds: BUSY_RETRY_SECONDS });
  }
  const kind = error instanceof ServiceError ? error.code.replace(/^bellhop\.http\./, "") : undefined;
  if (kind !== "UnsupportedMediaType" && kind !== "PayloadTooLarge") return undefined;
  return new ConsoleError(`bellhop.console.${kind}`, { cause: error });
}
