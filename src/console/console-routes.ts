import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { OperatorSession } from "../identity/operators.ts";
import type { Permission } from "../identity/roles.ts";
import { readFor } from "../platform/db/connection.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { QueryParameters } from "../platform/http/read-parameters.ts";
import { readingFor } from "../platform/http/reader.ts";
import { checkMediaType, receiveSmallBody } from "../platform/http/receive-body.ts";
import { type Paging, readPaging } from "../query/page-cursors.ts";
import { adminOf, type ConsoleParts, sendAnswer } from "./console-parts.ts";
import { CONSOLE_API, operatorOf, requireCsrfToken, requireOwnOrigin } from "./guard.ts";
import { JsonBody } from "./json-body.ts";

export type { Paging };

/** A form with 20,000 grants has less. */
const FORM_BYTES_MAX = 2 * 1_048_576;

/** A question of an operator, read. */
export interface Asked {
  readonly query: QueryParameters;
  readonly operator: OperatorSession;
  /** What the path names. */
  readonly named: Readonly<Record<string, string>>;
  readonly reply: FastifyReply;
}

/** A change that an operator asks for. */
export interface Form {
  readonly body: JsonBody;
  readonly operator: OperatorSession;
  /** The operator as the actor, for the audit. */
  readonly who: string;
  readonly named: Readonly<Record<string, string>>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** How an operator's question is paged; `limitMax`: a page has never more, whatever was asked for. */
export function pagingOf(
  { context }: ConsoleParts,
  path: string,
  query: QueryParameters,
  shape: PositionShape,
  limitMax = 1_000,
): Paging {
  const page = { limit: Math.min(query.limit(), limitMax), cursor: query.cursor() };
  return readPaging(context, { clientId: "console", path, filters: query.question() }, page, shape);
}

/** Adds a question: GET, of an operator with the permission, a few at a time. */
export function addQuestion(
  scope: FastifyInstance,
  parts: ConsoleParts,
  permission: Permission,
  path: string,
  parameters: readonly string[],
  answer: (asked: Asked) => Promise<unknown>,
): void {
  scope.get(`${CONSOLE_API}/${path}`, { config: { permission } }, async (request, reply) => {
    const operator = operatorOf(request);
    const query = new QueryParameters(request.raw.url ?? "", parameters);
    const named = request.params as Record<string, string>;
    const answered = await parts.questions.run(() =>
      readFor(readingFor(reply.raw), () => answer({ query, operator, named, reply })),
    );
    return reply.sent ? reply : sendAnswer(reply, answered);
  });
}

/**
 * Adds a change: POST, of an operator with the permission, from a page of ours. `afterwards` runs once it is made and no longer
 * counts as one of the few at a time: it may wait.
 */
export function addChange<Changed>(
  scope: FastifyInstance,
  parts: ConsoleParts,
  permission: Permission,
  path: string,
  fields: readonly string[],
  change: (form: Form) => Promise<Changed>,
  afterwards?: (form: Form, changed: Changed) => Promise<void>,
): void {
  const guard = async (request: FastifyRequest) => {
    requireOwnOrigin(parts, request);
    requireCsrfToken(request);
  };
  // Before the body is read: what is refused is not worth its memory.
  scope.post(
    `${CONSOLE_API}/${path}`,
    { config: { permission }, onRequest: guard },
    async (request, reply) => {
      const body = await receiveJson(parts, request, FORM_BYTES_MAX, fields);
      const named = request.params as Record<string, string>;
      const operator = operatorOf(request);
      const { who } = adminOf(parts, operator);
      const form = { body, operator, who, named, request, reply };
      const answer = await parts.questions.run(() => change(form));
      await afterwards?.(form, answer);
      return sendAnswer(reply, answer ?? { done: true });
    },
  );
}

/** Receives the JSON form of a change, with these fields and no others. */
export async function receiveJson(
  { context }: ConsoleParts,
  request: FastifyRequest,
  bytesMax: number,
  fields: readonly string[],
): Promise<JsonBody> {
  checkMediaType(request.headers["content-type"]);
  return new JsonBody(await receiveSmallBody(context, request, bytesMax), fields);
}
