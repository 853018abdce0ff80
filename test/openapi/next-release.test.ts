import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { readConfig } from "../../src/config.ts";
import { EXAMPLE_RECORDS } from "../../src/ingest/openapi/record-examples.ts";
import { buildOpenApiDocument, describeRelease } from "../../src/openapi/document.ts";
import { forGenerators } from "../../src/openapi/for-generators.ts";
import { componentsWithin } from "../../src/openapi/open-answers.ts";
import {
  type Answer,
  type OpenApiDocument,
  type Operation,
  resolved,
  resolveReference,
  type Schema,
} from "../../src/platform/http/openapi/model.ts";
import { errorsOf } from "../support/openapi.ts";

const document = buildOpenApiDocument(readConfig({}));
/** Without what is open for later releases: it has each enumeration. */
const release = describeRelease(readConfig({}));
/** As JSON Schema reads it: `nullable` is a type. */
const forCode = JSON.parse(JSON.stringify(forGenerators(document)), (_key, value) => {
  if (value?.nullable !== true) return value;
  const { nullable: _, type, ...rest } = value;
  return type === undefined ? rest : { ...rest, type: [type, "null"] };
}) as OpenApiDocument;

const UNKNOWN_WORD = "not-known-today";

interface JsonAnswer {
  readonly at: string;
  readonly schema: Schema;
  readonly examples: readonly unknown[];
}

function answersOf(described: OpenApiDocument): JsonAnswer[] {
  return Object.entries(described.paths).flatMap(([path, item]) =>
    (Object.entries(item) as [string, Operation][]).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, answer]) =>
        Object.entries((resolved(described, answer) as Answer).content ?? {}).flatMap(
          ([type, { schema, examples = {} }]) =>
            /json/.test(type)
              ? [
                  {
                    at: `${method.toUpperCase()} ${path} ${status}`,
                    schema,
                    examples: Object.values(examples).map(({ value }) => value),
                  },
                ]
              : [],
        ),
      ),
    ),
  );
}

function* schemasIn(value: unknown, at: string): Generator<readonly [string, Schema]> {
  if (typeof value !== "object" || value === null) return;
  yield [at, value as Schema];
  for (const [name, inner] of Object.entries(value))
    if (!["examples", "example", "x-enumDescriptions"].includes(name))
      yield* schemasIn(inner, `${at}/${name}`);
}

/** What a later release may answer in place of `value`: a field more in every object, and words that are not known today. */
function ofNextRelease(schema: Schema, value: unknown): unknown {
  const known = resolved(release, schema as Schema & { $ref: string }) as Schema;
  if (value === null) return null;
  if (known.anyOf !== undefined) {
    const part = known.anyOf.find((one) => errorsOf(release, one, value).length === 0);
    return part === undefined ? value : ofNextRelease(part, value);
  }
  if ((known.enum ?? known["x-extensible-enum"]) !== undefined) return UNKNOWN_WORD;
  if (Array.isArray(value)) return value.map((item) => ofNextRelease(known.items ?? {}, item));
  if (typeof value !== "object") return value;
  const fields = Object.entries(value).map(([name, inner]) => [
    name,
    ofNextRelease(known.properties?.[name] ?? {}, inner),
  ]);
  return known.properties === undefined ? value : { ...Object.fromEntries(fields), addedLater: { by: [1] } };
}

describe("answers of a later release", () => {
  const answers = answersOf(release);
  const today = new Map(answersOf(document).map(({ at, schema }) => [at, schema]));
  test("are read by today's document: each example with a field more in every object, and with unknown words", () => {
    let changed = 0;
    for (const { at, schema, examples } of answers) {
      for (const example of examples) {
        const later = ofNextRelease(schema, example);
        if (JSON.stringify(later).includes(UNKNOWN_WORD)) changed++;
        assert.deepEqual(errorsOf(document, today.get(at) as Schema, later), [], at);
      }
    }
    assert.ok(changed > 50, `only ${changed} answers have words`);
  });
  test("have an outcome, a warning and a status that nobody knows today", () => {
    const status = answers.find(({ at }) => at === "GET /api/public/v1/requests/{requestId} 200");
    const later = JSON.stringify(ofNextRelease(status?.schema ?? {}, status?.examples[0]));
    for (const name of ["outcome", "code", "status"])
      assert.ok(later.includes(`"${name}":"${UNKNOWN_WORD}"`));
  });
  for (const [name, described] of [
    ["the document", document],
    ["the document for code generators", forCode],
  ] as const)
    test(`${name} closes no object and no enumeration of an answer`, () => {
      const found = answersOf(described);
      const named = componentsWithin(
        described,
        found.map(({ schema }) => schema),
      );
      const all: [string, unknown][] = [
        ...found.map(({ at, schema }): [string, unknown] => [at, schema]),
        ...[...named].map((one): [string, unknown] => [
          one,
          resolveReference(described, `#/components/${one}`),
        ]),
      ];
      let objects = 0;
      for (const [at, schema] of all.flatMap(([at, one]) => [...schemasIn(one, at)])) {
        if (Array.isArray(schema.enum)) assert.fail(`${at} is a closed enumeration`);
        if (schema.type === undefined || schema.properties === undefined) continue;
        assert.equal(schema.additionalProperties, true, at);
        objects++;
      }
      assert.ok(objects > 50);
    });
});

describe("the document for code generators", () => {
  const text = JSON.stringify(forGenerators(document));
  test("is OpenAPI 3.0 without unions, lists of types, patterns and constants", () => {
    const { openapi } = forCode;
    assert.equal(openapi, "3.0.3");
    for (const keyword of ["anyOf", "oneOf", "patternProperties", "propertyNames", "pattern", "const"])
      assert.doesNotMatch(text, new RegExp(`"${keyword}":`), keyword);
    assert.doesNotMatch(text, /"type":\[/);
  });
  test("has the operations of the document, except those of operators", () => {
    const idsOf = (json: string) => [...json.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    const kept = idsOf(text);
    const all = idsOf(JSON.stringify(document));
    const ofOperators = [
      "introspectToken",
      "getHealth",
      "getReadiness",
      "getOpenApi",
      "getDocs",
      "getMetrics",
    ];
    assert.deepEqual(
      all.filter((id) => !kept.includes(id)),
      ofOperators,
    );
    assert.ok(kept.every((id) => all.includes(id)));
  });
  test("has nothing that only those need, and no header of compressed bodies", () => {
    const { components, tags } = forCode;
    assert.ok(tags.every(({ name }) => name !== "Service"));
    assert.deepEqual(Object.keys(components.securitySchemes).sort(), ["clientBasic", "oauth2"]);
    for (const name of ["Health", "Introspection"]) assert.equal(components.schemas[name], undefined);
    assert.equal(components.responses["NoMetricsToken"], undefined);
    assert.ok(components.schemas["ChangeCursor"], "a line of the change feed");
    const { IdempotencyKey, ContentEncoding } = components.parameters;
    assert.ok(IdempotencyKey !== undefined && ContentEncoding === undefined);
  });
  test("refers to nothing that it does not have", () => {
    // Throws for what is missing.
    assert.ok(componentsWithin(forCode, forCode.paths).size > 50);
  });
  test("describes the records as its clients send them: counts as numbers, decimals as text", () => {
    const reservation = EXAMPLE_RECORDS.reservations;
    assert.deepEqual(errorsOf(forCode, { $ref: "#/components/schemas/Reservation" }, reservation), []);
    const { blocks, singlePersonRate } = forCode.components.schemas["GroupBlock"]?.properties ?? {};
    assert.deepEqual([blocks?.type, singlePersonRate?.type], ["integer", "string"]);
  });
  test("has times of answers as date-time, and those of records as text", () => {
    const { receivedAt, appliedAt } = forCode.components.schemas["RequestStatus"]?.properties ?? {};
    assert.deepEqual([receivedAt?.format, appliedAt?.format], ["date-time", "date-time"]);
    const { createDateTime } = forCode.components.schemas["Inventory"]?.properties ?? {};
    assert.deepEqual([createDateTime?.type, createDateTime?.format], ["string", undefined]);
  });
});

test("times have the format date-time, and no format is an invention of this document", () => {
  const formats = new Set([...schemasIn(document, "#")].map(([, { format }]) => format));
  formats.delete(undefined);
  const registered = [
    "date",
    "date-time",
    "decimal",
    "int32",
    "int64",
    "password",
    "uri",
    "uri-reference",
    "uuid",
  ];
  assert.deepEqual([...formats].sort(), registered);
});

test("operations are named in one way: get and list read, and other verbs do something", () => {
  for (const item of Object.values(document.paths)) {
    for (const [method, { operationId }] of Object.entries(item) as [string, Operation][]) {
      assert.equal(/^(get|list)[A-Z]/.test(operationId), method === "get", operationId);
    }
  }
});
