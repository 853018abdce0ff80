import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { OAuthError } from "../platform/errors/oauth-error.ts";
import { parseForm } from "./form.ts";

describe("the form parser", () => {
  it("reads what URLSearchParams writes", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme", minLength: 1 })),
        (fields) => {
          const form = parseForm(Buffer.from(new URLSearchParams(fields).toString()));
          assert.deepEqual(Object.fromEntries(form), { ...fields });
        },
      ),
    );
  });

  it("reads any bytes or refuses them as invalid_request, and nothing else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          parseForm(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof OAuthError && error.code === "invalid_request");
        }
      }),
    );
  });

  it("drops empty parameters but still sees them repeated", () => {
    assert.deepEqual([...parseForm(Buffer.from("a=&b&c=1&&"))], [["c", "1"]]);
    assert.throws(() => parseForm(Buffer.from("a=&a=1")), /repeated/);
    assert.throws(() => parseForm(Buffer.from("a=1&%61=2")), /repeated/);
  });
});
