import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { addBackfillRoutes } from "../backfill/console-routes.ts";
import { addCertificationRoutes } from "../certification/console-routes.ts";
import { addAuditRoutes, addClientRoutes } from "../console/client-routes.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { sessionCookieOf } from "../console/cookie.ts";
import { addAppRoutes, guardRoutes, renderConsoleError } from "../console/guard.ts";
import { addOperatorRoutes } from "../console/operator-routes.ts";
import { addSessionRoutes } from "../console/session-routes.ts";
import { addSubscriptionRoutes } from "../delivery/console-routes.ts";
import type { AuthInternals } from "../identity/authenticator.ts";
import { createLoginLimiter, type LoginMemory } from "../identity/login-limiter.ts";
import { SingleSignOn, type SingleSignOnSettings } from "../identity/single-sign-on.ts";
import {
  addInsightRoutes,
  addIntakeRoutes,
  addPropertyRoutes,
  addShellRoutes,
} from "../insight/console-routes.ts";
import { CODE_VERSION } from "../platform/db/code-version.ts";
import { Semaphore } from "../platform/runtime/semaphore.ts";
import { addQuarantineRoutes } from "../query/console/quarantine.ts";
import { addHistoryRoutes } from "../query/console/record-history.ts";
import { addRequestRoutes } from "../query/console/requests.ts";
import { addSettingsRoutes } from "../settings/console-routes.ts";
import type { AddressRules } from "../webhooks/address-rules.ts";
import { addWebhookRoutes } from "../webhooks/console-routes.ts";
import type { HttpContext } from "./http-context.ts";

/** Concurrent queries per thread; leaves connections of the pool for others. */
const QUESTIONS_AT_ONCE = 3;
const QUESTIONS_WAITING_MAX = 60;
/** Per operator; a page asks at most ten questions at once. */
const OPERATOR_QUESTIONS_WAITING_MAX = 20;
/** Changes do not wait for questions. */
const CHANGES_AT_ONCE = 4;
const CHANGES_WAITING_MAX = 40;
const OPERATOR_CHANGES_WAITING_MAX = 10;
/** Passwords waiting to be verified, in total and per network: about 3 seconds of work. */
const PASSWORDS_WAITING_MAX = 40;
const NETWORK_PASSWORDS_WAITING_MAX = 10;

/** Build output of packages/console. */
const APP_DIRECTORY = fileURLToPath(new URL("../../packages/console/dist/", import.meta.url));

export interface ConsoleOptions {
  readonly internals: AuthInternals;
  /** Public addresses, known once the service listens. */
  readonly addresses: () => { readonly baseUrl: string };
  /** Memory of failed logins, shared by all threads. */
  readonly logins: LoginMemory;
  /** Addresses that webhooks may be sent to. */
  readonly webhookRules: AddressRules;
  /** Whether reports and alerts are sent by e-mail. */
  readonly isMailConfigured: boolean;
  readonly singleSignOn?: SingleSignOnSettings | undefined;
}

/**
 * Registers the console and its API in a separate scope: sessions instead of tokens, small JSON forms instead of batches, and error
 * messages for operators.
 */
export async function registerConsole(
  app: FastifyInstance,
  context: HttpContext,
  options: ConsoleOptions,
): Promise<void> {
  const { internals, addresses } = options;
  const baseUrl = () => addresses().baseUrl;
  const parts: ConsoleParts<HttpContext> = {
    context,
    internals,
    login: {
      pool: context.pool,
      limiter: createLoginLimiter(undefined, options.logins),
      hashing: new Semaphore(1, PASSWORDS_WAITING_MAX, NETWORK_PASSWORDS_WAITING_MAX),
      cipher: internals.cipher,
      log: context.log,
    },
    singleSignOn: options.singleSignOn === undefined ? undefined : new SingleSignOn(options.singleSignOn),
    questions: new Semaphore(QUESTIONS_AT_ONCE, QUESTIONS_WAITING_MAX, OPERATOR_QUESTIONS_WAITING_MAX),
    changes: new Semaphore(CHANGES_AT_ONCE, CHANGES_WAITING_MAX, OPERATOR_CHANGES_WAITING_MAX),
    baseUrl,
    cookie: () => sessionCookieOf(baseUrl()),
  };
  await app.register(async (scope) => {
    scope.decorateRequest("operator", undefined);
    scope.setErrorHandler(renderConsoleError);
    guardRoutes(scope, parts);
    addSessionRoutes(scope, parts, CODE_VERSION);
    addShellRoutes(scope, parts);
    addIntakeRoutes(scope, parts);
    addRequestRoutes(scope, parts);
    addPropertyRoutes(scope, parts);
    addHistoryRoutes(scope, parts);
    addQuarantineRoutes(scope, parts);
    addBackfillRoutes(scope, parts);
    addCertificationRoutes(scope, parts);
    addClientRoutes(scope, parts);
    addSettingsRoutes(scope, parts);
    addWebhookRoutes(scope, parts, options.webhookRules);
    addSubscriptionRoutes(scope, parts, options.isMailConfigured);
    addAuditRoutes(scope, parts);
    addOperatorRoutes(scope, parts);
    addInsightRoutes(scope, parts);
    addAppRoutes(scope, APP_DIRECTORY);
  });
}
