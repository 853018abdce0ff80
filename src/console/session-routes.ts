import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { recordAudit } from "../identity/audit.ts";
import { confirmCode, confirmPassword, logIn, requireAttempt } from "../identity/login.ts";
import {
  closeSession,
  csrfTokenOf,
  type OperatorSession,
  SESSION_IDLE_SECONDS,
} from "../identity/operator-sessions.ts";
import { hasOperators, setOperatorPassword } from "../identity/operators.ts";
import { permissionsOf } from "../identity/roles.ts";
import { beginTotp, confirmTotp, resetTotp } from "../identity/second-factor.ts";
import { SignOnRefused, signOn } from "../identity/single-sign-on.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { type ConsoleParts, sendAnswer } from "./console-parts.ts";
import { addChange, type Form, receiveJson } from "./console-routes.ts";
import { cookieOf, endedCookieOf, readCookie, type SessionCookie, signOnCookieOf } from "./cookie.ts";
import { CONSOLE_API, requireOwnOrigin, sessionOf } from "./guard.ts";
import type { SessionAnswer, TotpAnswer, TotpConfirmedAnswer } from "./session-answers.ts";

const PASSWORD_CHARACTERS_MAX = 1_024;
const CODE_CHARACTERS_MAX = 64;
/** A small limit, because senders are not authenticated. */
const LOGIN_BYTES_MAX = 4_096;

function accountOf(session: OperatorSession): NonNullable<SessionAnswer["operator"]> {
  const { name, role, scope, hasPassword, hasTotp } = session;
  return { name, role, permissions: permissionsOf(role), grants: scope.grants, hasPassword, hasTotp };
}

async function describe(
  parts: ConsoleParts,
  version: string,
  session: OperatorSession | undefined,
): Promise<SessionAnswer> {
  return {
    operator: session === undefined ? null : accountOf(session),
    csrfToken: session === undefined ? null : csrfTokenOf(session),
    expiresAt: session?.expiresAt.toISOString() ?? null,
    idleSeconds: SESSION_IDLE_SECONDS,
    hasOperators: session !== undefined || (await hasOperators(parts.context.pool)),
    singleSignOn: parts.singleSignOn === undefined ? null : { host: parts.singleSignOn.host },
    version,
  };
}

function requireCookie(parts: ConsoleParts): SessionCookie {
  const cookie = parts.cookie();
  if (cookie === undefined) throw new ConsoleError("bellhop.console.NeedsTls");
  return cookie;
}

async function answerLogin(
  parts: ConsoleParts,
  version: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const cookie = requireCookie(parts);
  const body = await receiveJson(parts, request, LOGIN_BYTES_MAX, ["name", "password", "code"]);
  const name = body.requiredText("name");
  const password = body.requiredText("password", PASSWORD_CHARACTERS_MAX);
  const code = body.text("code", CODE_CHARACTERS_MAX);
  const session = await logIn(parts.login, parts.context.clientAddress(request.raw), name, password, code);
  // Close the browser's previous session.
  const before = await sessionOf(parts, request);
  if (before !== undefined) await closeSession(parts.context.pool, before.id);
  reply.header("set-cookie", cookieOf(cookie, session.id));
  return sendAnswer(reply, await describe(parts, version, session));
}

/** Throws unless the form contains the operator's own password. */
async function requirePassword(parts: ConsoleParts, { body, operator, request }: Form): Promise<void> {
  const current = body.requiredText("current", PASSWORD_CHARACTERS_MAX);
  await confirmPassword(parts.login, parts.context.clientAddress(request.raw), operator.name, current);
}

async function changePassword(parts: ConsoleParts, version: string, form: Form): Promise<SessionAnswer> {
  const { body, operator, who } = form;
  const password = body.requiredText("password", PASSWORD_CHARACTERS_MAX);
  await requirePassword(parts, form);
  await setOperatorPassword({ ...parts.login, who }, operator.name, password, operator.id);
  return describe(parts, version, operator);
}

/** Adds the routes for the session, login and logout, and the operator's own password. */
export function addSessionRoutes(scope: FastifyInstance, parts: ConsoleParts, version: string): void {
  scope.get(`${CONSOLE_API}/session`, { config: { permission: "public" } }, async (request, reply) =>
    sendAnswer(reply, await describe(parts, version, await sessionOf(parts, request))),
  );
  scope.post(
    `${CONSOLE_API}/login`,
    { config: { permission: "public" }, onRequest: async (request) => requireOwnOrigin(parts, request) },
    (request, reply) => answerLogin(parts, version, request, reply),
  );
  addChange(scope, parts, { permission: "own-account", path: "logout" }, async ({ operator, who, reply }) => {
    await closeSession(parts.context.pool, operator.id);
    await recordAudit(parts.context.pool, { who, what: "log-out" });
    reply.header("set-cookie", endedCookieOf(requireCookie(parts)));
    return undefined;
  });
  addChange(
    scope,
    parts,
    { permission: "own-account", path: "password", fields: ["current", "password"] },
    (form) => changePassword(parts, version, form),
  );
  addTotpRoutes(scope, parts);
  addSignOnRoutes(scope, parts);
}

/** Adds the routes for the second factor of a local password. */
function addTotpRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { login } = parts;
  addChange(
    scope,
    parts,
    { permission: "own-account", path: "totp/begin", fields: ["current"] },
    async (form): Promise<TotpAnswer> => {
      await requirePassword(parts, form);
      return beginTotp(login, form.operator.name);
    },
  );
  addChange(
    scope,
    parts,
    { permission: "own-account", path: "totp/confirm", fields: ["code"] },
    async (form): Promise<TotpConfirmedAnswer> => {
      const { name } = form.operator;
      requireAttempt(login.limiter.takeCode(name));
      const code = form.body.requiredText("code", CODE_CHARACTERS_MAX);
      const recoveryCodes = await confirmTotp(login, form.who, form.operator, code);
      login.limiter.forgetCodes(name);
      return { recoveryCodes };
    },
  );
  addChange(
    scope,
    parts,
    { permission: "own-account", path: "totp/disable", fields: ["code"] },
    async ({ body, operator, who, request }) => {
      const { pool, clientAddress } = parts.context;
      const code = body.requiredText("code", CODE_CHARACTERS_MAX);
      await confirmCode(login, clientAddress(request.raw), operator.name, code);
      await resetTotp({ pool, who }, operator.name, operator.id);
    },
  );
}

/** Adds the single sign-on redirects. Every failure leads to the login page, which has the messages. */
function addSignOnRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { singleSignOn } = parts;
  if (singleSignOn === undefined) return;
  const { pool, clientAddress } = parts.context;
  const callback = () => `${parts.baseUrl()}${CONSOLE_API}/oidc/callback`;
  const options = { config: { permission: "public" } } as const;
  const orRefusal = async (request: FastifyRequest, reply: FastifyReply, work: () => Promise<string>) => {
    try {
      return reply.redirect(await work(), 303);
    } catch (error) {
      if (!(error instanceof SignOnRefused)) throw error;
      request.log.warn({ err: error.cause, reason: error.reason }, "single sign-on was refused");
      return reply.redirect(`/console/?refused=${error.reason}`, 303);
    }
  };
  scope.get(`${CONSOLE_API}/oidc/start`, options, (request, reply) =>
    orRefusal(request, reply, async () => {
      const cookie = requireCookie(parts);
      const { location, kept } = await singleSignOn.begin(callback());
      reply.header("set-cookie", cookieOf(signOnCookieOf(cookie), kept));
      return location;
    }),
  );
  scope.get(`${CONSOLE_API}/oidc/callback`, options, (request, reply) =>
    orRefusal(request, reply, async () => {
      const cookie = requireCookie(parts);
      const kept = readCookie(request.headers.cookie, signOnCookieOf(cookie).name);
      reply.header("set-cookie", endedCookieOf(signOnCookieOf(cookie)));
      if (kept === undefined) throw new SignOnRefused("expired");
      const address = clientAddress(request.raw);
      if (parts.login.limiter.take(address, "") > 0) throw new SignOnRefused("attempts");
      const { search } = new URL(request.raw.url ?? "", callback());
      const account = await singleSignOn.complete(new URL(search, callback()), kept);
      const session = await signOn(pool, account, address);
      parts.login.limiter.forget(address, "");
      reply.header("set-cookie", cookieOf(cookie, session.id));
      return "/console/";
    }),
  );
}
