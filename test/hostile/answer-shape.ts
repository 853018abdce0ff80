import { readFile } from "node:fs/promises";
import { Compile } from "typebox/schema";
import {
  type Answer,
  type OpenApiDocument,
  type Operation,
  resolved,
} from "../../src/platform/http/openapi/model.ts";
import { errorObject } from "../support/error-object.ts";
import type { RawAnswer } from "../support/raw-http.ts";
import type { Shot } from "./shot.ts";

type Check = (value: unknown) => boolean;

/** Says what of an answer is not as it is documented; undefined where all is. */
export type ShapeJudge = (shot: Shot, answer: RawAnswer) => string | undefined;

/**
 * Makes the judge from docs/openapi.json: an answer to an operation must have one of its statuses and the body of that one;
 * an answer to bytes that name no operation must be an error object of the registry, or empty (401, 403).
 */
export async function createShapeJudge(): Promise<ShapeJudge> {
  const file = new URL("../../docs/openapi.json", import.meta.url);
  const document = JSON.parse(await readFile(file, "utf8")) as OpenApiDocument;
  const checks = new Map<string, Check | "empty" | undefined>();

  function checkOf(asks: NonNullable<Shot["asks"]>, answer: RawAnswer): Check | "empty" | undefined {
    const key = `${asks.method} ${asks.path} ${answer.status}`;
    if (!checks.has(key)) checks.set(key, compile(document, asks, answer.status));
    return checks.get(key);
  }

  return (shot, answer) => {
    const text = answer.body.toString();
    // Bytes that are no request have no address, and their answer no request's id.
    if (shot.asks === undefined || !answer.headers.has("x-request-id")) return errorFault(shot, answer, text);
    const check = checkOf(shot.asks, answer);
    if (check === undefined) return `the document has no ${answer.status} of ${shot.asks.path}`;
    if (check === "empty") return text === "" ? undefined : "it has a body";
    if (!(answer.headers.get("content-type") ?? "").startsWith("application/json"))
      return text === answer.body.toString() && /^[0-9a-f-]{36}$/.test(text) ? undefined : "it is no JSON";
    try {
      return check(JSON.parse(text)) ? undefined : `it is not as documented: ${text.slice(0, 300)}`;
    } catch {
      return `its body is no JSON: ${text.slice(0, 300)}`;
    }
  };
}

function compile(
  document: OpenApiDocument,
  { method, path }: NonNullable<Shot["asks"]>,
  status: number,
): Check | "empty" | undefined {
  const operation = document.paths[path]?.[method.toLowerCase() as "get" | "post"] as Operation | undefined;
  const found = operation?.responses[String(status)];
  if (found === undefined) return undefined;
  const { content } = resolved(document, found) as Answer;
  if (content === undefined) return "empty";
  const schema = content["application/json"]?.schema;
  if (schema === undefined) return undefined;
  const compiled = Compile({ ...schema, components: document.components } as object);
  return (value) => compiled.Check(value);
}

const OAUTH_ERROR = /^\{"error":"[a-z_]+","error_description":"[^"\\]+"\}$/;

function errorFault(shot: Shot, answer: RawAnswer, text: string): string | undefined {
  if (text === "" && [401, 403].includes(answer.status)) return undefined;
  if (answer.status < 400)
    return shot.expect === "refused" ? `${answer.status}, although nothing was asked for` : undefined;
  // Other methods at an OAuth endpoint: where the fault is found first decides whose words it is answered in.
  if (answer.headers.get("pragma") === "no-cache" && OAUTH_ERROR.test(text)) return undefined;
  try {
    errorObject({ status: answer.status, text }, answer.status);
    return undefined;
  } catch (error) {
    return `it is no error object: ${(error as Error).message.slice(0, 300)}`;
  }
}
