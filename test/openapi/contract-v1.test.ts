import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { readConfig } from "../../src/config.ts";
import { buildOpenApiDocument } from "../../src/openapi/document.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { brokenPromises, type Promises, promisesOf } from "../support/promises.ts";

const frozen = JSON.parse(
  await readFile(new URL("../fixtures/contract-v1.json", import.meta.url), "utf8"),
) as Promises;

/** A document that can be changed. */
// biome-ignore lint/suspicious/noExplicitAny: these tests reach into a document and break it on purpose.
type LooseDocument = any;

function changed(change: (document: LooseDocument) => void): string[] {
  const document = JSON.parse(JSON.stringify(buildOpenApiDocument(readConfig({}))));
  change(document);
  return brokenPromises(frozen, promisesOf(document as OpenApiDocument));
}

describe("/api/public/v1 is frozen", () => {
  test("nothing that version 1 of the contract promised is renamed, removed or tightened", () => {
    assert.ok(frozen.kept.length > 500);
    assert.deepEqual(
      changed(() => undefined),
      [],
    );
  });
  test("today's promises are frozen, too: npm run generate -- openapi", () => {
    assert.deepEqual(promisesOf(buildOpenApiDocument(readConfig({}))), frozen);
  });
  test("fields, optional headers, answers, codes and addresses may be added, and bounds widened", () => {
    const breaks = changed(({ paths, components }) => {
      components.schemas.Group.properties.venue = { $ref: "#/components/schemas/Venue" };
      components.schemas.Venue = {
        type: "object",
        required: ["hall"],
        properties: { hall: { type: "string" } },
      };
      components.schemas.Group.properties.name.maxLength += 1;
      components.schemas.ErrorBody.properties.exception["x-extensible-enum"].push("bellhop.new.Code");
      const { post } = paths["/api/public/v1/groups"];
      post.parameters.push({ name: "X-New", in: "header", schema: { type: "string" } });
      post.responses[425] = { description: "" };
      paths["/api/public/v1/events"] = { post: { ...post, requestBody: { content: {} } } };
    });
    assert.deepEqual(breaks, []);
  });
  for (const [what, found, change] of [
    [
      "a field that is gone",
      "gone: Group.salesPerson: string",
      ({ components }) => delete components.schemas.Group.properties.salesPerson,
    ],
    [
      "a field of another type",
      "gone: Profile.id: string",
      ({ components }) => (components.schemas.Profile.properties.id.type = "integer"),
    ],
    [
      "a field that must be sent now",
      "demanded: Group.name",
      ({ components }) => components.schemas.Group.required.push("name"),
    ],
    [
      "a field that may be missing now",
      "gone: RequestStatus.counts is always there",
      ({ components }) => components.schemas.RequestStatus.required.splice(0),
    ],
    [
      "a shorter text",
      "tighter: maxLength of Group.name",
      ({ components }) => (components.schemas.Group.properties.name.maxLength = 10),
    ],
    [
      "a pattern where there was another",
      "tighter: pattern of Group.name",
      ({ components }) => (components.schemas.Group.properties.name.pattern = "^a$"),
    ],
    [
      "fewer records",
      "tighter: maxItems of GroupBatch",
      ({ components }) => (components.schemas.GroupBatch.maxItems = 10),
    ],
    [
      "an address that is gone",
      "gone: GET /api/public/v1/requests",
      ({ paths }) => delete paths["/api/public/v1/requests"],
    ],
    [
      "an answer that is gone",
      "gone: POST /api/public/v1/groups 503",
      ({ paths }) => delete paths["/api/public/v1/groups"].post.responses[503],
    ],
    [
      "a header that must be sent now",
      "demanded: POST /api/public/v1/groups header Idempotency-Key",
      ({ components }) => (components.parameters.IdempotencyKey.required = true),
    ],
    [
      "another scope",
      "demanded: POST /api/public/v1/groups scope read",
      ({ paths }) => paths["/api/public/v1/groups"].post.security[0].oauth2.push("read"),
    ],
    [
      "an error code that is gone",
      "gone: POST /api/public/v1/groups 400 bellhop.contract.EmptyBatch",
      ({ components }) =>
        delete components.responses.InvalidBatch.content["application/json"].examples[
          "bellhop.contract.EmptyBatch"
        ],
    ],
    [
      "an outcome that is gone",
      "gone: RecordOutcome.outcome knows stale",
      ({ components }) => (components.schemas.RecordOutcome.properties.outcome.enum = ["applied"]),
    ],
  ] as readonly (readonly [string, string, (document: LooseDocument) => void])[]) {
    test(`${what} is a broken promise`, () => {
      const breaks = changed(change);
      assert.ok(
        breaks.some((one) => one.startsWith(found)),
        breaks.join("\n"),
      );
    });
  }
});
