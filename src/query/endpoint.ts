import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AdmissionContext, authorize } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import type { Scope } from "../identity/scopes.ts";
import { jsonInTurns } from "../platform/http/json-in-turns.ts";
import { type ErrorAnswerName, tokenOperation } from "../platform/http/openapi/errors.ts";
import type { Operation, PathItem, Schema } from "../platform/http/openapi/model.ts";
import { type AnswerOf, declaredFields, onlyDeclared } from "../platform/http/openapi/schema.ts";
import { type CursorContext, type Paging, readPaging } from "../platform/http/page-cursors.ts";
import {
  documented,
  type PageParameters,
  type ParameterSet,
  RequestParameters,
  type ValuesOf,
} from "../platform/http/parameters.ts";
import type { PositionShape } from "../platform/http/position.ts";

/** A request to an endpoint. */
export interface Asked<Context, Of extends ParameterSet = ParameterSet> {
  readonly context: Context;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** As last checked. */
  readonly principal: Principal;
  readonly clientId: string;
  readonly parameters: ValuesOf<Of>;
  /** Text that identifies the query of a cursor: the other parameters. */
  filtersWithout(...names: string[]): string;
}

/** An endpoint for clients with a token, declared once: its route and permission, its documentation, and how it is answered. */
export interface Endpoint<Context, Of extends ParameterSet = ParameterSet, Value = unknown>
  extends Pick<Operation, "operationId" | "summary" | "description" | "requestBody"> {
  readonly method: "get" | "post";
  /** With the names of its path parameters in braces. */
  readonly path: string;
  /** Its section of the OpenAPI document. */
  readonly tag: string;
  /** One of these suffices. */
  readonly scopes: readonly Scope[];
  /** Of the path and the query; others are refused. Without it the query is not read. */
  readonly parameters?: Of;
  /** By default 200. */
  readonly status?: 201 | 202;
  readonly answer: AnswerOf<Value>;
  /** Error responses by status, besides those of every endpoint; by default an invalid parameter. */
  readonly refusals?: Readonly<Record<number, ErrorAnswerName>>;
  /** Returns the answer, of which the fields of its schema are sent; or its JSON as text; or a reply that is sent. Throws ServiceError and EmptyRefusal. */
  work(asked: Asked<Context, Of>): Promise<NoInfer<Value> | string | FastifyReply>;
}

/** Infers the types of an endpoint's parameters and answer from its declaration. */
export function endpointOf<Context>() {
  return <const Of extends ParameterSet, Value>(declared: Endpoint<Context, Of, Value>): Endpoint<Context> =>
    declared;
}

/** A context with more parts. No copy: what the context computes on demand, it still does. */
export function extended<Context extends object, Parts extends object>(
  context: Context,
  parts: Parts,
): Context & Parts {
  return Object.assign(Object.create(context) as Context, parts);
}

/** The requested page of a list. `path`: identifies the list of a cursor. */
export function pagingOf(
  {
    context,
    clientId,
    parameters,
    filtersWithout,
  }: Pick<Asked<CursorContext, PageParameters>, "context" | "clientId" | "parameters" | "filtersWithout">,
  path: string,
  shape: PositionShape,
): Paging {
  const filters = filtersWithout("limit", "cursor");
  return readPaging(context, { clientId, path, filters }, parameters, shape);
}

function operationOf({
  tag,
  scopes,
  parameters,
  status,
  answer,
  refusals = { 400: "InvalidParameter" },
  requestBody,
  operationId,
  summary,
  description,
}: Omit<Endpoint<never>, "work">): Operation {
  const answers = { [status ?? 200]: answer, ...refusals };
  return tokenOperation(tag, scopes, answers, {
    operationId,
    summary,
    description,
    ...(parameters && { parameters: documented(parameters) }),
    ...(requestBody && { requestBody }),
  });
}

/** The operations of endpoints, for the OpenAPI document. */
export function operationsOf(endpoints: readonly Omit<Endpoint<never>, "work">[]): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const endpoint of endpoints) {
    const { method, path } = endpoint;
    paths[path] = { ...paths[path], [method]: operationOf(endpoint) };
  }
  return paths;
}

/** An answer as JSON, with the declared fields only. */
async function jsonOf(schema: Schema, answer: unknown): Promise<string> {
  const fields = declaredFields(schema);
  if (fields === undefined || typeof answer !== "object" || answer === null)
    return JSON.stringify(onlyDeclared(schema, answer));
  const own = answer as Readonly<Record<string, unknown>>;
  const declared = Object.fromEntries(Object.keys(fields).map((name) => [name, own[name]]));
  return jsonInTurns(declared, (value, name) => onlyDeclared(fields[name] ?? {}, value));
}

/** Adds the routes of endpoints. */
export function registerEndpoints<Context extends AdmissionContext>(
  app: FastifyInstance,
  context: Context,
  endpoints: readonly Endpoint<Context>[],
): void {
  for (const { method, path, scopes, parameters, status, answer: described, work } of endpoints) {
    const schema = described.content?.["application/json"]?.schema ?? {};
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const named = request.params as Record<string, string>;
      const address = parameters === undefined ? "" : (request.raw.url ?? "");
      const read = new RequestParameters(parameters ?? {}, address, named);
      const answer = await work({
        context,
        request,
        reply,
        get principal() {
          return request.principal as Principal;
        },
        clientId: (request.principal as Principal).clientId,
        parameters: read.values,
        filtersWithout: (...names) => read.filtersWithout(...names),
      });
      if (reply.sent) return reply;
      const text = typeof answer === "string" ? answer : await jsonOf(schema, answer);
      reply
        .code(status ?? 200)
        .header("cache-control", "no-store")
        .type("application/json; charset=utf-8");
      return reply.send(text);
    };
    const url = path.replace(/\{(\w+)\}/g, ":$1");
    app.route({ method, url, onRequest: authorize(context, scopes), handler });
  }
}
