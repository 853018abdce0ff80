import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { schemaOf } from "./openapi/model.ts";
import { code, documented, instant, pages, pathId, RequestParameters, required, word } from "./parameters.ts";

const DECLARED = {
  requestId: pathId("The request.", schemaOf("RequestId")),
  clientCode: required(code("The client code.", "ACME")),
  key: { ...code("Only this record.", "R-1"), name: "reservationId" },
  state: word("Its state.", ["open", "closed"], "open", "open"),
  since: instant("Not before this.", "2026-06-01T00:00:00Z"),
  ...pages(),
};

const read = (query: string) => new RequestParameters(DECLARED, `/requests/X?${query}`, { requestId: "0A" });

describe("the parameters of a request", () => {
  test("have the types and defaults that were declared", () => {
    const { values } = read("clientCode=ACME&reservationId=R%201&since=2026-06-01T00:00Z&limit=7");
    const { requestId, clientCode, key, state, since, limit, cursor } = values;
    const typed: [string, string, string | undefined, "open" | "closed", string | undefined, number] = [
      ...([requestId, clientCode, key, state, since, limit] as const),
    ];
    assert.deepEqual(typed, ["0a", "ACME", "R 1", "open", "2026-06-01T00:00:00.000000Z", 7]);
    assert.equal(cursor, undefined);
    // @ts-expect-error: it may be omitted.
    key?.length satisfies number;
    // @ts-expect-error: it is none of the words.
    assert.notEqual(state === "ended", true);
  });

  test("are refused if they are missing or unknown, under their names in the address", () => {
    assert.throws(() => read(""), { message: "clientCode is required: 1 to 128 characters." });
    assert.throws(() => read("clientCode=ACME&key=R-1"), {
      message:
        'The parameter "key" is not known; this address takes: clientCode, reservationId, state, since, limit, cursor.',
    });
  });

  test("identify the query of a cursor, whatever their order", () => {
    const [one, other] = [read("clientCode=A&state=open&limit=1"), read("state=open&clientCode=A&cursor=x")];
    assert.equal(one.filters, other.filters);
    assert.notEqual(one.filters, read("clientCode=A&state=closed").filters);
  });
});

test("the document has parameters under their names, in the order of their declaration", () => {
  assert.deepEqual(
    documented(DECLARED).map(({ name, in: where, required }) => [name, where, required ?? false]),
    [
      ["requestId", "path", true],
      ["clientCode", "query", true],
      ["reservationId", "query", false],
      ["state", "query", false],
      ["since", "query", false],
      ["limit", "query", false],
      ["cursor", "query", false],
    ],
  );
});
