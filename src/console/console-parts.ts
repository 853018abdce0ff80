import type { FastifyReply } from "fastify";
import type pg from "pg";
import type { AuthAdmin } from "../identity/admin.ts";
import type { AuthInternals } from "../identity/authenticator.ts";
import type { LoginParts } from "../identity/login.ts";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import type { SingleSignOn } from "../identity/single-sign-on.ts";
import { isLoopback } from "../platform/http/networks.ts";
import type { CursorContext } from "../platform/http/page-cursors.ts";
import type { SmallBodyContext } from "../platform/http/receive-body.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";

export interface SessionCookie {
  readonly name: string;
  readonly attributes: string;
}

/** `__Host-` binds the cookie to this host (RFC 6265bis). Without TLS only loopback gets one, named by port: cookies ignore ports. */
export function sessionCookieOf(baseUrl: string): SessionCookie | undefined {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol === "https:") {
    return { name: "__Host-bellhop-console", attributes: "Path=/; Secure; HttpOnly; SameSite=Strict" };
  }
  if (!isLoopback(hostname)) return undefined;
  return {
    name: `bellhop-console-${port === "" ? "80" : port}`,
    attributes: "Path=/console; HttpOnly; SameSite=Strict",
  };
}

/** The cookie during a single sign-on. Unlike a session's, it must be sent with the provider's redirect. */
export function signOnCookieOf({ name, attributes }: SessionCookie): SessionCookie {
  return {
    name: name.replace("console", "sign-on"),
    attributes: attributes.replace("SameSite=Strict", "SameSite=Lax; Max-Age=600"),
  };
}

/** A session cookie without expiry: the service decides when the session ends. */
export function cookieOf({ name, attributes }: SessionCookie, sessionId: string): string {
  return `${name}=${sessionId}; ${attributes}`;
}

export function endedCookieOf({ name, attributes }: SessionCookie): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}

/** Undefined if there is none, or several, one of which may have been planted. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** What the console's own routes work with, created once per thread. */
export interface ConsoleContext extends CursorContext, SmallBodyContext {
  readonly pool: pg.Pool;
}

/** `More`: what a feature's console routes work with beside. */
export interface ConsoleParts<More = unknown> {
  readonly context: ConsoleContext & More;
  readonly internals: AuthInternals;
  readonly login: LoginParts;
  /** Undefined if no provider is configured. */
  readonly singleSignOn: SingleSignOn | undefined;
  /** Limits concurrent reads, because operators share connections and the event loop with partners' batches. Operators take turns. */
  readonly questions: Semaphore;
  /** Limits concurrent changes. Operators take turns. */
  readonly changes: Semaphore;
  /** Known once the service listens. */
  baseUrl(): string;
  /** Undefined if logins are not possible. */
  cookie(): SessionCookie | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before every handler of the console's API except the login's. */
    operator: OperatorSession | undefined;
  }
}

/** The operator as the actor of a change, for the audit. */
export function adminOf({ internals }: ConsoleParts, operator: OperatorSession): AuthAdmin {
  return { internals, who: `console:${operator.name}`, scope: operator.scope };
}

export function sendAnswer(reply: FastifyReply, answer: unknown): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer));
}
