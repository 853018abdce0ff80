import assert from "node:assert/strict";
import { Compile } from "typebox/schema";
import {
  type Answer as Documented,
  type OpenApiDocument,
  type Operation,
  resolved,
  type Schema,
} from "../../src/platform/http/openapi/model.ts";

/** Headers that HTTP, Node or the app's hardening give every answer; the document need not name them. */
const UNDOCUMENTED = new Set([
  "allow",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-security-policy",
  "content-type",
  "cross-origin-opener-policy",
  "cross-origin-resource-policy",
  "date",
  "etag",
  "keep-alive",
  "origin-agent-cluster",
  "pragma",
  "referrer-policy",
  "strict-transport-security",
  "transfer-encoding",
  "vary",
  "x-content-type-options",
  "x-dns-prefetch-control",
  "x-download-options",
  "x-frame-options",
  "x-permitted-cross-domain-policies",
  "x-xss-protection",
]);

interface Seen {
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly text: string;
}

/** Whether a value is what a schema of the document says; the first errors where it is not. */
export function errorsOf(document: OpenApiDocument, schema: Schema, value: unknown): unknown[] {
  const check = Compile({ ...schema, components: document.components } as object);
  return check.Check(value) ? [] : [...check.Errors(value)[1]];
}

/** Asserts that an answer is one that the document describes for this operation: status, headers, media type and body. */
export function assertDocumented(document: OpenApiDocument, method: string, path: string, seen: Seen): void {
  const at = `${method} ${path} ${seen.status}`;
  const operation = document.paths[path]?.[method.toLowerCase() as "get" | "post"] as Operation | undefined;
  assert.ok(operation !== undefined, `the document has no ${method} ${path}`);
  const found = operation.responses[String(seen.status)];
  assert.ok(found !== undefined, `the document has no ${at}`);
  const documented = resolved(document, found) as Documented;
  assertHeaders(document, documented, new Map(seen.headers), at);
  assertBody(document, documented, new Map(seen.headers).get("content-type"), seen.text, at);
}

function assertHeaders(
  document: OpenApiDocument,
  documented: Documented,
  headers: ReadonlyMap<string, string>,
  at: string,
): void {
  const known = new Map(
    Object.entries(documented.headers ?? {}).map(([name, header]) => [name.toLowerCase(), header]),
  );
  for (const [name, header] of known) {
    const { required, schema } = resolved(document, header) as { required?: boolean; schema: Schema };
    const value = headers.get(name);
    if (value === undefined) assert.notEqual(required, true, `${at}: ${name} is missing`);
    else
      assert.deepEqual(
        errorsOf(document, schema, schema.type === "integer" ? Number(value) : value),
        [],
        `${at}: ${name}: ${value}`,
      );
  }
  for (const name of headers.keys()) {
    if (!UNDOCUMENTED.has(name)) assert.ok(known.has(name), `${at}: the document has no ${name}`);
  }
}

function assertBody(
  document: OpenApiDocument,
  documented: Documented,
  type: string | undefined,
  text: string,
  at: string,
): void {
  if (documented.content === undefined) {
    assert.equal(text, "", `${at} has a body`);
    return;
  }
  const media = documented.content[(type ?? "").split(";")[0] as string];
  assert.ok(media !== undefined, `${at}: the document has no ${type}`);
  for (const value of valuesOf(type ?? "", text))
    assert.deepEqual(errorsOf(document, media.schema, value), [], `${at}: ${text.slice(0, 500)}`);
}

/** What of a body its schema describes: of NDJSON each line. */
function valuesOf(type: string, text: string): unknown[] {
  if (type.startsWith("application/x-ndjson")) {
    assert.ok(text.endsWith("\n"), text.slice(-100));
    return text
      .slice(0, -1)
      .split("\n")
      .map((line) => JSON.parse(line));
  }
  return [type.startsWith("application/json") ? JSON.parse(text) : text];
}
