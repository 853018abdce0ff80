import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Compile } from "typebox/schema";
import { changed, fullRecord, isValidRecord, leastRecord } from "../../../test/contract/records.ts";
import { COMPONENT_NAMES, componentSchemas } from "./component-schemas.ts";
import { RESOURCES } from "./resource.ts";

type Schema = Record<string, unknown>;

function eachSchema(schema: Schema, visit: (schema: Schema) => void): void {
  visit(schema);
  for (const inner of Object.values((schema["properties"] ?? {}) as Record<string, Schema>))
    eachSchema(inner, visit);
  if (schema["items"] !== undefined) eachSchema(schema["items"] as Schema, visit);
  for (const inner of (schema["anyOf"] ?? []) as Schema[]) eachSchema(inner, visit);
}

test("there is one component a resource, made of plain JSON", () => {
  const schemas = componentSchemas();
  assert.deepEqual(
    Object.keys(schemas),
    RESOURCES.map((resource) => COMPONENT_NAMES[resource]),
  );
  assert.deepEqual(JSON.parse(JSON.stringify(schemas)), schemas);
  assert.doesNotMatch(JSON.stringify(schemas), /fieldKind|~/);
});

test("every text, array and whole number of the OpenAPI components is bounded, and every field described", () => {
  for (const schema of Object.values(componentSchemas())) {
    eachSchema(schema, (one) => {
      const types = [one["type"]].flat();
      if (types.includes("string"))
        assert.ok(
          "enum" in one || ("maxLength" in one && ("pattern" in one || "format" in one)),
          JSON.stringify(one),
        );
      if (types.includes("array")) assert.ok("maxItems" in one && "items" in one);
      if (types.includes("integer"))
        assert.ok("minimum" in one && "maximum" in one && one["format"] === "int32");
      for (const property of Object.values((one["properties"] ?? {}) as Record<string, Schema>))
        assert.match(String(property["description"]), /\w{3}/);
    });
  }
});

test("what the service accepts, the OpenAPI components accept", () => {
  const components = componentSchemas();
  for (const resource of RESOURCES) {
    const component = Compile(components[COMPONENT_NAMES[resource]] as object);
    assert.ok(
      component.Check(fullRecord(resource)),
      `${resource}: ${JSON.stringify(component.Errors(fullRecord(resource)))}`,
    );
    assert.ok(component.Check(leastRecord(resource)));
    const names = Object.keys(fullRecord(resource));
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom("2", "1.0", "", 2, null)),
        (name, value) => {
          const record = changed(fullRecord(resource), `/${name}`, value);
          if (isValidRecord(resource, record))
            assert.ok(component.Check(record), `${name}: ${JSON.stringify(value)}`);
        },
      ),
      { numRuns: 500 },
    );
  }
});

test("what the OpenAPI components can say, they refuse as the service does", () => {
  const components = componentSchemas();
  const refused = [
    ["reservations", "/roomStays/0/numberOfAdults", "1.5"],
    ["reservations", "/roomStays/0/arrivalDate", "x"],
    ["reservations", "/roomStays", []],
    ["reservations", "/channel", null],
    ["groups", "/action", 1],
    ["groups", "/groupBlocks/0/blocks", undefined],
    ["inventories", "/clientCode", ""],
    ["inventories", "/createDateTime", "2026-03-01T08:30:00+00:00"],
  ] as const;
  for (const [resource, pointer, value] of refused) {
    const record = changed(fullRecord(resource), pointer, value);
    assert.ok(
      !isValidRecord(resource, record) &&
        !Compile(components[COMPONENT_NAMES[resource]] as object).Check(record),
      pointer,
    );
  }
});
