import type { FastifyRequest } from "fastify";
import { findSession, isCsrfTokenOf, type OperatorSession } from "../identity/operator-session.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import type { ConsoleParts } from "./console-parts.ts";
import { isLoopback, readCookie } from "./console-parts.ts";

/** packages/console/src/contract.ts has it as CSRF_HEADER. */
const CSRF_HEADER = "x-bellhop-csrf";

/** Addresses that a page asks by itself, again and again: they do not keep a session alive. */
const LOOKED_AT_BY_ITSELF: ReadonlySet<string> = new Set([
  "/console/api/intake",
  "/console/api/session",
  "/console/api/webhooks",
  "/console/api/webhooks/:endpointId",
]);

/** The session whose cookie came with a request; undefined when nobody is logged in. */
export async function sessionOf(
  parts: ConsoleParts,
  request: FastifyRequest,
): Promise<OperatorSession | undefined> {
  const cookie = parts.cookie();
  const id = cookie === undefined ? undefined : readCookie(request.headers.cookie, cookie.name);
  if (id === undefined) return undefined;
  const isActive = !LOOKED_AT_BY_ITSELF.has(request.routeOptions.url ?? "");
  return findSession(parts.context.pool, id, isActive);
}

/** The session of a request that needs one; it is `request.operator` from then on. */
export async function requireSession(parts: ConsoleParts, request: FastifyRequest): Promise<OperatorSession> {
  const session = await sessionOf(parts, request);
  if (session === undefined) throw new ConsoleError("bellhop.console.NotLoggedIn");
  request.operator = session;
  return session;
}

/**
 * Refuses a change that another site's page may have sent. Browsers say where a request comes from (Fetch metadata, else
 * Origin) and no page can change that; whoever sends neither is no browser, and has no cookie that was not handed to it.
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
 * Refuses a host that is neither BASE_URL's nor this machine's own: a site that points its name here (DNS rebinding) would have its
 * pages taken for the console's.
 */
export function requireOwnHost(parts: ConsoleParts, { headers }: FastifyRequest): void {
  const host = `http://${headers.host}`;
  const name = URL.canParse(host) ? new URL(host).hostname : "";
  const own = new URL(parts.baseUrl());
  if (name === own.hostname || isLoopback(name)) return;
  throw new ConsoleError("bellhop.console.WrongHost", {
    message: `The console does not answer to this host. Open ${own.origin}/console, or set BASE_URL to the address that you use.`,
  });
}

/** Refuses a change without the session's token, which only a page of ours can have read. */
export function requireCsrfToken(request: FastifyRequest, session: OperatorSession): void {
  const token = request.headers[CSRF_HEADER];
  if (typeof token !== "string" || !isCsrfTokenOf(session, token))
    throw new ConsoleError("bellhop.console.Forged");
}
