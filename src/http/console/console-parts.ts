import type { FastifyReply } from "fastify";
import type { AuthAdmin } from "../../auth/admin.ts";
import type { AuthInternals } from "../../auth/authenticator.ts";
import type { LoginParts } from "../../auth/operator-login.ts";
import type { OperatorSession } from "../../auth/operator-session.ts";
import type { AddressRules } from "../../feed/webhooks/address-rules.ts";
import type { Gate } from "../../memory/gate.ts";
import type { HttpContext } from "../context.ts";
import type { SessionCookie } from "./cookie.ts";

/** What the console's routes work with. */
export interface ConsoleParts {
  readonly context: HttpContext;
  readonly internals: AuthInternals;
  readonly login: LoginParts;
  /** All questions pass it, a few at a time: operators may wait, partners' batches share the connections and the loop. */
  readonly questions: Gate;
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
