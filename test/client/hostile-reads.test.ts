import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, describe, test } from "node:test";
import { BellhopClient, type BellhopError } from "#client";
import { HostileServer } from "./hostile-server.ts";

let server: HostileServer;
afterEach(() => server.stop());

type Get = (request: IncomingMessage, response: ServerResponse, count: number) => void;

async function started(get: Get, forMs = 30_000): Promise<BellhopClient> {
  server = await HostileServer.start({ get });
  const retry = { forMs, firstDelayMs: 2, delayMsMax: 20 };
  return new BellhopClient({ baseUrl: server.address, clientId: "partner", clientSecret: "secret", retry });
}

const queryOf = ({ url = "" }: IncomingMessage) => new URL(url, "http://localhost").searchParams;

/** Sends a part of a body that says it is whole. */
function cutOff(request: IncomingMessage, response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-length": String(text.length) });
  response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
}

const PROPERTY = { clientCode: "ACME", propertyCode: "LON01" };

describe("a list from a server that misbehaves", () => {
  test("gives every item once, over short, empty and cut off pages", async () => {
    const pages: Record<string, { items: unknown[]; nextCursor: string | null }> = {
      "": { items: [1, 2], nextCursor: "a" },
      a: { items: [], nextCursor: "b" },
      b: { items: [3], nextCursor: null },
    };
    const bellhop = await started((request, response, count) => {
      const page = JSON.stringify(pages[queryOf(request).get("cursor") ?? ""]);
      if (count % 2 === 0) cutOff(request, response, page);
      else response.end(page);
    });
    const items: unknown[] = [];
    for await (const item of bellhop.reservations.list(PROPERTY)) items.push(item);
    assert.deepEqual(items, [1, 2, 3]);
  });

  test("ends with the service's own error where there is one", async () => {
    const bellhop = await started((_request, response) => {
      const body = { exception: "bellhop.http.InvalidParameter", message: "from takes a date" };
      response.writeHead(400, { "x-request-id": "req-7" }).end(JSON.stringify(body));
    });
    const listed = bellhop.reservations.list({ ...PROPERTY, from: "x" }).next();
    await assert.rejects(listed, (error: BellhopError) => {
      assert.equal(error.exception, "bellhop.http.InvalidParameter");
      assert.equal(error.status, 400);
      assert.equal(error.requestId, "req-7");
      assert.equal(error.message, "from takes a date");
      return true;
    });
  });
});

const change = (key: string) => ({
  type: "change",
  resource: "reservations",
  ...PROPERTY,
  key,
  change: "created",
});
const lines = (...all: unknown[]) => all.map((line) => `${JSON.stringify(line)}\n`).join("");

describe("the change feed of a server that misbehaves", () => {
  test("reports each change once: a truncated response is requested again before any of it is reported", async () => {
    const answers: Record<string, string> = {
      "": lines(change("R-1"), change("R-2"), { type: "cursor", cursor: "c2", caughtUp: false }),
      c2: lines({ type: "news" }, { ...change("R-3"), cursor: "c3" }, change("R-4"), {
        type: "cursor",
        cursor: "c4",
        caughtUp: false,
      }),
      c4: lines({ type: "cursor", cursor: "c4", caughtUp: true }),
    };
    const bellhop = await started((request, response, count) => {
      const answer = answers[queryOf(request).get("cursor") ?? ""] ?? "";
      if (count % 3 === 0) cutOff(request, response, answer);
      // A proxy that ends the body properly, but early.
      else if (count % 3 === 1) response.end(answer.slice(0, answer.lastIndexOf("{")));
      else response.end(answer);
    });
    const reported: (readonly [string, string | undefined])[] = [];
    const positions: string[] = [];
    const changes = bellhop.changes({
      untilCaughtUp: true,
      onCursor: ({ cursor }) => void positions.push(cursor),
    });
    for await (const { key, cursor } of changes) reported.push([key, cursor]);
    assert.deepEqual(reported, [
      ["R-1", undefined],
      ["R-2", "c2"],
      ["R-3", "c3"],
      ["R-4", "c4"],
    ]);
    assert.deepEqual(positions, ["c2", "c4", "c4"]);
  });

  test("resumes at a cursor with its filters, and ends when the cursor is too old", async () => {
    const asked: string[] = [];
    const bellhop = await started((request, response) => {
      asked.push(queryOf(request).toString());
      response
        .writeHead(410)
        .end(JSON.stringify({ exception: "bellhop.feed.CursorTooOld", message: "too old" }));
    });
    const changes = bellhop.changes({ cursor: "old", resource: "groups", ...PROPERTY, wait: 3, limit: 7 });
    await assert.rejects(changes.next(), { status: 410 });
    assert.deepEqual(asked, ["cursor=old&limit=7&wait=3&resource=groups&clientCode=ACME&propertyCode=LON01"]);
  });

  test("ends with the caller's signal while it waits", async () => {
    const stop = new AbortController();
    const bellhop = await started(() => setImmediate(() => stop.abort(new Error("enough"))));
    await assert.rejects(bellhop.changes({ signal: stop.signal }).next(), /enough/);
  });
});
