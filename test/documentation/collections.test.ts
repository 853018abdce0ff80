import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { runInNewContext } from "node:vm";

interface Item {
  readonly event: readonly { readonly script: { readonly exec: readonly string[] } }[];
}
const collection = JSON.parse(
  readFileSync(new URL("../../docs/collections/bellhop.postman_collection.json", import.meta.url), "utf8"),
) as Item & { readonly item: readonly { readonly item: readonly Item[] }[] };

const scriptOf = ({ event }: Item) => event[0]?.script.exec.join("\n") ?? "";

interface Answer {
  readonly code: number;
  readonly text: string;
}

/** What Postman gives its scripts, as far as ours use it. */
class Postman {
  readonly environment = new Map<string, unknown>([
    ["baseUrl", "http://one.example"],
    ["clientId", "a"],
    ["clientSecret", "s"],
  ]);
  readonly variables = new Map<string, unknown>();
  readonly asked: string[] = [];
  readonly failed: string[] = [];
  readonly console: string[] = [];

  run(script: string, { code, text }: Answer): void {
    const response = { code, text: () => text, json: () => JSON.parse(text) as unknown };
    const fail = (message: string) => {
      throw new Error(message);
    };
    const pm = {
      environment: this.environment,
      collectionVariables: this.variables,
      sendRequest: ({ url }: { url: string }, done: (error: null, answer: object) => void) => {
        this.asked.push(url);
        done(null, response);
      },
      response: {
        ...response,
        to: { have: { status: (wanted: number) => wanted === code || fail(`${code}`) } },
      },
      expect: { fail },
      test: (_name: string, check: () => void) => {
        try {
          check();
        } catch (error) {
          this.failed.push((error as Error).message);
        }
      },
    };
    // Postman runs a script as the body of a function.
    runInNewContext(`(function () {\n${script}\n})()`, {
      pm,
      console: { error: (message: string) => this.console.push(message) },
    });
  }
}

describe("the scripts of the Postman collection", () => {
  const token = (name: string) => ({
    code: 200,
    text: JSON.stringify({ access_token: name, expires_in: 3600 }),
  });
  const takeToken = scriptOf(collection);
  let postman: Postman;
  before(() => {
    postman = new Postman();
  });

  test("a token is reused until the installation or the client is another", () => {
    postman.run(takeToken, token("first"));
    postman.run(takeToken, token("not asked for"));
    assert.equal(postman.variables.get("token"), "first");
    postman.environment.set("clientId", "b");
    postman.run(takeToken, token("second"));
    assert.equal(postman.variables.get("token"), "second");
    postman.environment.set("baseUrl", "http://two.example");
    postman.run(takeToken, token("third"));
    assert.equal(postman.variables.get("token"), "third");
    postman.variables.set("renewAt", Date.now() - 1);
    postman.run(takeToken, token("fourth"));
    assert.equal(postman.variables.get("token"), "fourth");
    assert.deepEqual(
      postman.asked,
      ["one", "one", "two", "two"].map((name) => `http://${name}.example/api/oauth2/token`),
    );
  });

  test("a refused client is written to the console, and each request fails with `no token`", () => {
    postman.environment.set("clientId", "wrong");
    postman.run(takeToken, { code: 401, text: "invalid_client" });
    assert.deepEqual(postman.console, ["No token: invalid_client"]);
    assert.ok(!postman.variables.get("token"));
    const requests = collection.item.flatMap(({ item }) => item);
    for (const request of requests) postman.run(scriptOf(request), { code: 403, text: "<html>" });
    assert.equal(postman.failed.length, requests.length);
    for (const message of postman.failed) assert.match(message, /no token/);
  });
});
