import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { recordAudit } from "../identity/audit.ts";
import {
  closeSession,
  confirmPassword,
  csrfTokenOf,
  hasOperators,
  logIn,
  type OperatorSession,
  SESSION_IDLE_SECONDS,
  setOperatorPassword,
} from "../identity/operators.ts";
import { permissionsOf } from "../identity/roles.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import type { SessionAnswer } from "./answers.ts";
import {
  adminOf,
  type ConsoleParts,
  cookieOf,
  endedCookieOf,
  type SessionCookie,
  sendAnswer,
} from "./console-parts.ts";
import { addChange, receiveJson, type Told } from "./console-routes.ts";
import { CONSOLE_API, requireOwnOrigin, sessionOf } from "./guard.ts";

const PASSWORD_CHARACTERS_MAX = 1_024;
/** Anybody may send one: it is bounded before anything else is known of its sender. */
const LOGIN_BYTES_MAX = 4_096;

function accountOf({ name, role, scope }: OperatorSession): NonNullable<SessionAnswer["operator"]> {
  return { name, role, permissions: permissionsOf(role), grants: scope.grants };
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
    version,
  };
}

function requireCookie(parts: ConsoleParts): SessionCookie {
  const cookie = parts.cookie();
  if (cookie === undefined) throw new ConsoleError("bellhop.console.NeedsTls");
  return cookie;
}

function tooManyAttempts(retryAfterSeconds: number): ConsoleError {
  return new ConsoleError("bellhop.console.TooManyAttempts", { retryAfterSeconds });
}

async function answerLogin(
  parts: ConsoleParts,
  version: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const cookie = requireCookie(parts);
  const body = await receiveJson(parts, request, LOGIN_BYTES_MAX, ["name", "password"]);
  const name = body.requiredText("name");
  const password = body.requiredText("password", PASSWORD_CHARACTERS_MAX);
  const result = await logIn(parts.login, parts.context.clientAddress(request.raw), name, password);
  if (result.kind === "limited") throw tooManyAttempts(result.waitSeconds);
  if (result.kind === "refused") throw new ConsoleError("bellhop.console.LoginFailed");
  // A session that this browser had before is not left behind.
  const before = await sessionOf(parts, request);
  if (before !== undefined) await closeSession(parts.context.pool, before.id);
  reply.header("set-cookie", cookieOf(cookie, result.session.id));
  return sendAnswer(reply, await describe(parts, version, result.session));
}

async function changePassword(parts: ConsoleParts, version: string, told: Told): Promise<SessionAnswer> {
  const { body, operator, request } = told;
  const current = body.requiredText("current", PASSWORD_CHARACTERS_MAX);
  const password = body.requiredText("password", PASSWORD_CHARACTERS_MAX);
  const known = await confirmPassword(
    parts.login,
    parts.context.clientAddress(request.raw),
    operator.name,
    current,
  );
  if (known === "wrong") throw new ConsoleError("bellhop.console.LoginFailed");
  if (known !== "right") throw tooManyAttempts(known.waitSeconds);
  const { who } = adminOf(parts, operator);
  await setOperatorPassword({ pool: parts.context.pool, who }, operator.name, password, operator.id);
  return describe(parts, version, operator);
}

/** Who is logged in, logging in and out, and the operator's own password. */
export function addSessionRoutes(scope: FastifyInstance, parts: ConsoleParts, version: string): void {
  scope.get(`${CONSOLE_API}/session`, { config: { permission: "public" } }, async (request, reply) =>
    sendAnswer(reply, await describe(parts, version, await sessionOf(parts, request))),
  );
  scope.post(
    `${CONSOLE_API}/login`,
    { config: { permission: "public" }, onRequest: async (request) => requireOwnOrigin(parts, request) },
    (request, reply) => answerLogin(parts, version, request, reply),
  );
  addChange(scope, parts, "own-account", "logout", [], async ({ operator, reply }) => {
    await closeSession(parts.context.pool, operator.id);
    const { who } = adminOf(parts, operator);
    await recordAudit(parts.context.pool, { who, what: "log-out" });
    reply.header("set-cookie", endedCookieOf(requireCookie(parts)));
    return undefined;
  });
  addChange(scope, parts, "own-account", "password", ["current", "password"], (told) =>
    changePassword(parts, version, told),
  );
}
