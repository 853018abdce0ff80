import assert from "node:assert/strict";
import { test } from "node:test";
import {
  component,
  componentOrNull,
  componentsIn,
  count,
  list,
  objectOf,
  onlyDeclared,
  text,
} from "./schema.ts";

const ITEM = component("Item", objectOf("An item.", { name: text("Its name.", 64, "a") }));
const PAGE = component(
  "Page",
  objectOf("A page.", {
    items: list("Its items.", 10, ITEM),
    first: componentOrNull("The first.", ITEM),
    total: count("How many."),
  }),
);

test("the named schemas of an answer are found, each before those that use it", () => {
  assert.deepEqual(Object.keys(componentsIn({ answer: { content: { schema: PAGE } } })), ["Item", "Page"]);
  const other = component("Item", objectOf("Another item.", {}));
  assert.throws(() => componentsIn([PAGE, other]), { message: "Two schemas are named Item." });
  assert.equal(JSON.stringify(PAGE), '{"$ref":"#/components/schemas/Page"}');
});

test("a value has the fields of its schema only, in their order", () => {
  const item = { secret: 1, name: "a" };
  assert.equal(
    JSON.stringify(onlyDeclared(PAGE, { total: 1, first: item, items: [item], internal: true })),
    '{"items":[{"name":"a"}],"first":{"name":"a"},"total":1}',
  );
  assert.equal(
    JSON.stringify(onlyDeclared(PAGE, { items: [], first: null, total: 0 })),
    '{"items":[],"first":null,"total":0}',
  );
});
