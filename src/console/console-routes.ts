import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import type { Permission } from "../identity/roles.ts";
import { readFor } from "../platform/db/connection.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { type Paging, readPaging } from "../platform/http/page-cursors.ts";
import {
  type PageParameters,
  type ParameterSet,
  RequestParameters,
  type ValuesOf,
} from "../platform/http/parameters.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { readingFor } from "../platform/http/reader.ts";
import { checkMediaType, receiveSmallBody } from "../platform/http/receive-body.ts";
import { adminOf, type ConsoleParts, sendAnswer } from "./console-parts.ts";
import {
  CONSOLE_API,
  operatorAfterWait,
  operatorOf,
  requireCsrfToken,
  requireOperator,
  requireOwnOrigin,
} from "./guard.ts";
import { JsonBody } from "./json-body.ts";

export type { Paging };

/** Fits a form with 20,000 grants. */
const FORM_BYTES_MAX = 2 * 1_048_576;

/** A parsed query of an operator. */
export interface Asked<Of extends ParameterSet = ParameterSet> {
  readonly parameters: ValuesOf<Of>;
  /** Text that identifies the query of a cursor. */
  readonly filters: string;
  readonly operator: OperatorSession;
  /** Path parameters. */
  readonly named: Readonly<Record<string, string>>;
  readonly reply: FastifyReply;
}

/** A change requested by an operator. */
export interface Form {
  readonly body: JsonBody;
  readonly operator: OperatorSession;
  /** The operator as the actor for the audit. */
  readonly who: string;
  readonly named: Readonly<Record<string, string>>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The paging of a query; `limitMax` caps the requested limit. */
export function pagingOf(
  { context }: ConsoleParts,
  path: string,
  { parameters: { limit, cursor }, filters }: Pick<Asked<PageParameters>, "parameters" | "filters">,
  shape: PositionShape,
  limitMax = 1_000,
): Paging {
  const page = { limit: Math.min(limit, limitMax), cursor };
  return readPaging(context, { clientId: "console", path, filters }, page, shape);
}

/** A console route: its path below the console's API, and the permission that it requires. */
interface RoutePlace {
  readonly permission: Permission;
  readonly path: string;
}

/** Adds a GET route for operators with the permission, with limited concurrency. */
export function addQuestion<Of extends ParameterSet = Readonly<Record<never, never>>>(
  scope: FastifyInstance,
  parts: ConsoleParts,
  { permission, path, parameters: declared }: RoutePlace & { readonly parameters?: Of },
  answer: (asked: Asked<Of>) => Promise<unknown>,
): void {
  scope.get(`${CONSOLE_API}/${path}`, { config: { permission } }, async (request, reply) => {
    const checkedAt = performance.now();
    const { values: parameters, filters } = new RequestParameters(
      declared ?? ({} as Of),
      request.raw.url ?? "",
    );
    const named = request.params as Record<string, string>;
    const answered = await parts.questions.run(async () => {
      const operator = await operatorAfterWait(parts, request, permission, checkedAt);
      return readFor(readingFor(reply.raw), () => answer({ parameters, filters, operator, named, reply }));
    }, operatorOf(request).name);
    return reply.sent ? reply : sendAnswer(reply, answered);
  });
}

/**
 * Adds a POST route for operators with the permission, from the console's own pages. `afterwards` runs once the change is made, outside the
 * concurrency limit: it may wait.
 */
export function addChange<Changed>(
  scope: FastifyInstance,
  parts: ConsoleParts,
  { permission, path, fields = [] }: RoutePlace & { readonly fields?: readonly string[] },
  change: (form: Form) => Promise<Changed>,
  afterwards?: (form: Form, changed: Changed) => Promise<void>,
): void {
  const guard = async (request: FastifyRequest) => {
    requireOwnOrigin(parts, request);
    requireCsrfToken(request);
  };
  // Checked before the body is read, so that refused requests use no memory.
  scope.post(
    `${CONSOLE_API}/${path}`,
    { config: { permission }, onRequest: guard },
    async (request, reply) => {
      const body = await receiveJson(parts, request, FORM_BYTES_MAX, fields);
      const named = request.params as Record<string, string>;
      const { form, answer } = await parts.changes.run(async () => {
        // The body may have taken a minute.
        const operator = await requireOperator(parts, request, permission);
        const { who } = adminOf(parts, operator);
        const asked: Form = { body, operator, who, named, request, reply };
        return { form: asked, answer: await change(asked) };
      }, operatorOf(request).name);
      await afterwards?.(form, answer);
      return sendAnswer(reply, answer ?? { done: true });
    },
  );
}

/** Reads the JSON form of a change with exactly these allowed fields. */
export async function receiveJson(
  { context }: ConsoleParts,
  request: FastifyRequest,
  bytesMax: number,
  fields: readonly string[],
): Promise<JsonBody> {
  checkMediaType(request.headers["content-type"]);
  // The app compresses nothing, and a decompressor is memory that anyone could take before the login.
  if (request.headers["content-encoding"] !== undefined)
    throw new ServiceError("bellhop.http.UnsupportedEncoding", {
      message: "Send the body without Content-Encoding.",
    });
  return new JsonBody(await receiveSmallBody(context, request, bytesMax), fields);
}
