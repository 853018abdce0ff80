import type { FastifyReply } from "fastify";
import type pg from "pg";
import type { AuthAdmin } from "../identity/admin.ts";
import type { AuthInternals } from "../identity/authenticator.ts";
import type { LoginParts } from "../identity/login.ts";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import type { SingleSignOn } from "../identity/single-sign-on.ts";
import { jsonInTurns } from "../platform/http/json-in-turns.ts";
import type { CursorContext } from "../platform/http/page-cursors.ts";
import type { SmallBodyContext } from "../platform/http/receive-body.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import type { SessionCookie } from "./cookie.ts";

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

export async function sendAnswer(reply: FastifyReply, answer: unknown): Promise<FastifyReply> {
  const isObject = typeof answer === "object" && answer !== null && !Array.isArray(answer);
  const text = isObject ? await jsonInTurns(answer) : JSON.stringify(answer);
  return reply.type("application/json; charset=utf-8").send(text);
}
