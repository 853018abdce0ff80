import type { FastifyReply } from "fastify";
import type { AuthAdmin } from "../identity/admin.ts";
import type { AuthInternals } from "../identity/authenticator.ts";
import type { LoginParts, OperatorSession } from "../identity/operators.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import type { HttpContext } from "../service-context.ts";
import type { AddressRules } from "../webhooks/address-rules.ts";

export interface SessionCookie {
  readonly name: string;
  /** What stands behind name and value. */
  readonly attributes: string;
}

/**
 * The cookie of a console at this address; undefined where none may be set. Behind TLS it is bound to exactly this host
 * (`__Host-`, RFC 6265bis section 4.1.3.2), so that no neighbour can plant one. Over plain http a password and a session
 * would lie open to the network between: only where there is none, on a loopback address. There the name has the port,
 * because cookies do not: two services on one machine would log each other's operators out.
 */
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

/** Whether a host of a URL is this machine's own. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Sets the cookie for as long as the browser runs: the service says when a session ends. */
export function cookieOf({ name, attributes }: SessionCookie, sessionId: string): string {
  return `${name}=${sessionId}; ${attributes}`;
}

/** Takes the cookie away. */
export function endedCookieOf({ name, attributes }: SessionCookie): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}

/** The value of the cookie of this name; undefined when there is none, or more than one: then one of them was planted. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** What the console's routes work with. */
export interface ConsoleParts {
  readonly context: HttpContext;
  readonly internals: AuthInternals;
  readonly login: LoginParts;
  /** All questions pass it, a few at a time: operators may wait, partners' batches share the connections and the loop. */
  readonly questions: Semaphore;
  /** Where webhooks may go. */
  readonly webhookRules: AddressRules;
  /** Where the service is found, once it listens. */
  baseUrl(): string;
  /** Undefined where nobody may log in. */
  cookie(): SessionCookie | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Who is logged in; set before any handler of the console's API runs, but for the login's. */
    operator: OperatorSession | undefined;
  }
}

/** The operator as the existing commands know one: for what is done, and for the audit. */
export function adminOf({ internals }: ConsoleParts, operator: OperatorSession): AuthAdmin {
  return { internals, who: `console:${operator.name}` };
}

/** Sends an answer of the console's API. */
export function sendAnswer(reply: FastifyReply, answer: unknown): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer));
}
