import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { describe } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import { RESOURCES } from "#contract/resource.ts";
import { VIOLATION_CODES } from "#contract/violation.ts";
import { WARNING_CODES } from "#contract/warnings.ts";
import { errorsOf } from "../../test/support/openapi.ts";
import { readConfig } from "../config.ts";
import { ERRORS, type ErrorCode } from "../platform/errors/registry.ts";
import {
  type Answer,
  type MediaType,
  type Operation,
  resolved,
  resolveReference,
  type Schema,
} from "../platform/http/openapi/model.ts";
import { buildOpenApiDocument } from "./document.ts";

const document = buildOpenApiDocument(readConfig({}));
const errors = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const contract = readFileSync(new URL("../../docs/contract.md", import.meta.url), "utf8");

/** Every object within a value, with where it stands. */
function* objectsIn(value: unknown, at = "#"): Generator<readonly [string, Record<string, unknown>]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${at}/${name}`);
}

/** Every operation with each of its answers. */
const answers = Object.entries(document.paths).flatMap(([path, item]) =>
  (Object.entries(item) as [string, Operation][]).flatMap(([method, { responses }]) =>
    Object.entries(responses).map(([status, answer]) => ({
      operation: `${method} ${path}`,
      status,
      answer: resolved(document, answer) as Answer,
    })),
  ),
);

describe("examples", () => {
  test("every example of a body or a response matches its schema", () => {
    let count = 0;
    for (const [at, media] of objectsIn({ paths: document.paths, components: document.components })) {
      if (media["schema"] === undefined || media["examples"] === undefined) continue;
      for (const [name, { value }] of Object.entries((media as unknown as MediaType).examples ?? {})) {
        assert.deepEqual(errorsOf(document, media["schema"] as Schema, value), [], `${at} ${name}`);
        count++;
      }
    }
    assert.ok(count > 50, `only ${count} examples were found`);
  });
  test("every example of a schema matches it", () => {
    let count = 0;
    for (const [at, schema] of objectsIn(document)) {
      if (!Array.isArray(schema["examples"])) continue;
      for (const example of schema["examples"]) {
        assert.deepEqual(errorsOf(document, schema as Schema, example), [], at);
        count++;
      }
    }
    assert.ok(count > 100, `only ${count} examples were found`);
  });
  for (const resource of RESOURCES) {
    test(`the ${resource} that the document shows pass the service's own checks`, () => {
      const media =
        document.paths[`/api/public/v1/${resource}`]?.post?.requestBody?.content["application/json"];
      for (const { value } of Object.values(media?.examples ?? {})) {
        const reading = readBatch(Buffer.from(JSON.stringify(value)), { recordsMax: 10, depthMax: 16 });
        assert.ok(reading.ok);
        assert.ok(reading.records.length > 0);
        for (const record of reading.records)
          assert.deepEqual(checkRecord(resource, record, 10), { violations: [], total: 0 });
      }
    });
  }
  test("codes in examples are codes of the registries", () => {
    for (const [at, object] of objectsIn(answers.map(({ answer }) => answer.content))) {
      for (const [list, codes] of [
        ["violations", VIOLATION_CODES],
        ["warnings", WARNING_CODES],
      ] as const) {
        for (const { code } of Array.isArray(object[list]) ? (object[list] as { code: string }[]) : [])
          assert.ok(Object.hasOwn(codes, code), `${at}: ${code}`);
      }
    }
  });
});

describe("errors", () => {
  const shown = answers.flatMap(({ status, answer }) =>
    Object.values(answer.content ?? {}).flatMap(({ examples = {} }) =>
      Object.keys(examples).map((name) => `${status} ${name}`),
    ),
  );
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    test(`${code} is shown under its status`, () => {
      assert.ok(shown.includes(`${ERRORS[code].status} ${code}`));
      assert.equal(new Set(shown.filter((one) => one.endsWith(` ${code}`))).size, 1);
    });
  }
  test("every error of docs/errors.md is in the document", () => {
    const listed = [...errors.matchAll(/^### (bellhop\.[\w.]+)\n\n\*\*(\d{3}) /gm)];
    assert.ok(listed.length > 15);
    for (const [, code, status] of listed) assert.ok(shown.includes(`${status} ${code}`), code);
  });
  test("401 and 403 of the data addresses have no body, and say why in a header", () => {
    for (const { operation, status, answer } of answers) {
      if (!operation.includes("/api/public/") || !["401", "403"].includes(status)) continue;
      assert.equal(answer.content, undefined, operation);
      assert.ok(Object.hasOwn(answer.headers ?? {}, "WWW-Authenticate"));
    }
  });
});

describe("headers", () => {
  test("every header of docs/contract.md is in the document", () => {
    const section = /## Headers\n([\s\S]*?)\n## /.exec(contract)?.[1] ?? "";
    const names = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => name),
    );
    assert.ok(names.length >= 12);
    const known = new Set([
      ...Object.keys(document.components.headers),
      ...Object.values(document.components.parameters).map(({ name }) => name),
      // OpenAPI 3.1 (section 4.8.12) has these as a security scheme and as media types.
      "Authorization",
      "Content-Type",
      "Accept",
    ]);
    for (const name of names) assert.ok(known.has(name), name);
  });
});

describe("the document itself", () => {
  const text = JSON.stringify(document);
  test("names nothing that it does not have, and has no component that it does not name", () => {
    for (const [at, { $ref }] of objectsIn(document)) {
      if (typeof $ref === "string") assert.doesNotThrow(() => resolveReference(document, $ref), at);
    }
    for (const [section, components] of Object.entries(document.components)) {
      if (section === "securitySchemes") continue;
      for (const name of Object.keys(components))
        assert.ok(text.includes(`"#/components/${section}/${name}"`), `${section}/${name} is used nowhere`);
    }
  });
  test("names no schema as generated clients name something else: built-in types, Go's constructors and files of tests", () => {
    const names = Object.keys(document.components.schemas);
    const clashes = names.filter(
      (name) => name in globalThis || names.includes(`New${name}`) || name.endsWith("Test"),
    );
    assert.deepEqual(clashes, []);
  });
  test("names each operation once", () => {
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
  });
  test("names the deployment's own addresses, and another server for tokens where there is one", () => {
    const addresses = { baseUrl: "https://data.example", authUrl: "https://auth.example" };
    const deployed = buildOpenApiDocument({ ...readConfig({}), addresses });
    assert.equal(deployed.servers[0]?.url, addresses.baseUrl);
    assert.equal(deployed.paths["/api/oauth2/token"]?.post?.servers?.[0]?.url, addresses.authUrl);
    assert.equal(deployed.paths["/api/public/v1/groups"]?.post?.servers, undefined);
    const { flows } = deployed.components.securitySchemes["oauth2"] ?? {};
    assert.equal(flows?.clientCredentials.tokenUrl, "https://auth.example/api/oauth2/token");
  });
  test("states the deployment's own limits", () => {
    const config = readConfig({
      RECORDS_PER_BATCH_MAX: "77",
      REQUEST_RATE: "13",
      BODY_LIMIT_BYTES: "1048576",
    });
    const limited = buildOpenApiDocument(config);
    assert.equal(limited.components.schemas["GroupBatch"]?.maxItems, 77);
    assert.match(limited.info.description, /13 requests per second/);
    assert.match(
      limited.paths["/api/public/v1/groups"]?.post?.description ?? "",
      /at most 77 records, 1 MiB on the wire/,
    );
  });
});
