import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { afterEach, describe, mock, test } from "node:test";
import {
  BellhopClient,
  type BellhopClientOptions,
  JsonBatch,
  type Reservation,
  readRecords,
  SendError,
  type SendReport,
} from "#client";
import { type HostilePlan, HostileServer, type Misdeed, type TestRecord } from "./hostile-server.ts";

let server: HostileServer;
afterEach(() => server.stop());

async function started(
  plan: HostilePlan,
  options: Partial<BellhopClientOptions> = {},
): Promise<BellhopClient> {
  server = await HostileServer.start(plan);
  return new BellhopClient({
    baseUrl: server.address,
    clientId: "partner",
    clientSecret: "secret",
    timeoutMs: 20_000,
    retry: { forMs: 60_000, firstDelayMs: 2, delayMsMax: 20 },
    ...options,
  });
}

function records(count: number, of: (index: number) => Partial<TestRecord> = () => ({})): Reservation[] {
  // The server of these tests judges by its own rules, not by the contract's.
  const made = Array.from({ length: count }, (_, index) => ({ reservationId: `R-${index}`, ...of(index) }));
  return made as unknown as Reservation[];
}

/** Every record once, or reported: none twice, none missing. */
function assertEachOnce(all: readonly Reservation[], refused: readonly number[] = []): void {
  assert.equal(server.repeated, 0);
  const missing = all.filter(
    ({ reservationId }, index) => !server.accepted.has(reservationId) && !refused.includes(index),
  );
  assert.deepEqual(missing, []);
  for (const index of refused) assert.ok(!server.accepted.has(all[index]?.reservationId ?? ""), `R-${index}`);
}

function assertCovered({ records, accepted, rejectedTotal, unconfirmed }: SendReport): void {
  assert.equal(accepted + rejectedTotal + unconfirmed.reduce((sum, { count }) => sum + count, 0), records);
}

const MISDEEDS: readonly Misdeed[] = [
  "429 with Retry-After",
  "429 without Retry-After",
  "429 with a date",
  "503 with Retry-After",
  "500",
  "502 from a proxy",
  "408",
  "a reset before",
  "a reset after",
  "a cut off answer after",
  "half a JSON after",
  "a proxy's page instead of a 202 after",
  "a slow answer after",
  "401",
  "403 invalid_token",
  "403 without a reason",
];
/** These are waited for to the end of the client's patience. */
const SILENT: readonly Misdeed[] = ["silence", "silence after"];

/** A repeatable chance (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("a send to a server that misbehaves", () => {
  for (const misdeed of MISDEEDS) {
    test(`delivers every record once despite ${misdeed}`, async () => {
      // The first batch goes well: a token that never worked is not worth another one.
      const bellhop = await started({ data: (count) => (count === 1 || count === 2 ? misdeed : undefined) });
      const all = records(40);
      const report = await bellhop.reservations.send(all, { batchRecords: 10, concurrency: 2 });
      assert.equal(report.accepted, 40);
      assert.equal(report.records, 40);
      assert.equal(report.batches, 4);
      assert.deepEqual(report.rejected, []);
      assert.deepEqual(report.unconfirmed, []);
      assertEachOnce(all);
    });
  }

  for (const misdeed of SILENT) {
    test(`gives up an attempt that meets ${misdeed}, and delivers every record once`, async () => {
      const bellhop = await started(
        { data: (count) => (count === 1 ? misdeed : undefined) },
        { timeoutMs: 400 },
      );
      const all = records(20);
      const report = await bellhop.reservations.send(all, { batchRecords: 5, concurrency: 2 });
      assert.equal(report.accepted, 20);
      assertEachOnce(all);
    });
  }

  test("delivers every record once through storms of everything", async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const random = chance(seed);
      const usable = MISDEEDS.filter((one) => !/^40[13]|with Retry|date/.test(one));
      const bellhop = await started({
        data: () => (random() < 0.5 ? usable[Math.floor(random() * usable.length)] : undefined),
        token: (count) => (count < 3 ? (["429", "a reset", "503"] as const)[count] : undefined),
      });
      const all = records(60, (index) =>
        random() < 0.1 ? { broken: true } : index % 17 === 0 ? { propertyCode: "FOREIGN" } : {},
      );
      const refused = (all as unknown as TestRecord[]).flatMap(({ broken, propertyCode }, index) =>
        broken === true || propertyCode === "FOREIGN" ? [index] : [],
      );
      const report = await bellhop.reservations.send(all, { batchRecords: 7, concurrency: 3 });
      assert.equal(report.accepted, 60 - refused.length, `seed ${seed}`);
      assert.deepEqual(
        report.rejected.map(({ index }) => index).sort((a, b) => a - b),
        refused,
        `seed ${seed}`,
      );
      assertEachOnce(all, refused);
      if (seed < 8) await server.stop();
    }
  });

  test("is retried no sooner than Retry-After", async () => {
    const bellhop = await started({ data: (count) => (count === 0 ? "429 with Retry-After" : undefined) });
    await bellhop.reservations.send(records(20), { batchRecords: 10, concurrency: 1 });
    const [first = 0, second = 0] = server.arrivals;
    assert.ok(second - first >= 990, `${second - first} ms`);
  });

  test("reads a Retry-After date by the server's clock, not its own", async (context) => {
    const skewMs = 3 * 86_400_000;
    const plan: HostilePlan = { skewMs, data: (count) => (count === 0 ? "429 with a date" : undefined) };
    const bellhop = await started(plan, { retry: { forMs: 10_000, firstDelayMs: 2, delayMsMax: 20 } });
    const now = Date.now;
    mock.method(Date, "now", () => now() - 5 * 86_400_000);
    context.after(() => mock.restoreAll());
    const report = await bellhop.reservations.send(records(3));
    assert.equal(report.accepted, 3);
    assert.equal(server.tokensGiven, 1);
  });

  test("reports unconfirmed records when it gives up, and a second send settles them", async () => {
    let isDown = true;
    const bellhop = await started(
      { data: (count) => (isDown && count > 0 ? "a reset after" : undefined) },
      { retry: { forMs: 50, firstDelayMs: 2, delayMsMax: 4 } },
    );
    const all = records(30);
    const failure = await bellhop.reservations
      .send(all, { batchRecords: 10, concurrency: 1 })
      .catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal(failure.report.accepted, 10);
    assert.deepEqual(
      failure.report.unconfirmed.map(({ first, count }) => ({ first, count })),
      [{ first: 10, count: 10 }],
    );
    isDown = false;
    const report = await bellhop.reservations.send(all, { batchRecords: 10, concurrency: 1 });
    assert.equal(report.accepted, 30);
    assertEachOnce(all);
  });
});

describe("a batch that is answered 500 whatever happens", () => {
  const hurried = { retry: { forMs: 30, firstDelayMs: 2, delayMsMax: 4 } };

  test("does not stop others, is reported, and is all that the next send stores", async () => {
    const plan: HostilePlan = { isMended: false };
    const bellhop = await started(plan, hurried);
    const all = records(60, (index) => (index === 25 || index === 41 ? { propertyCode: "POISON" } : {}));
    const sendAll = () => bellhop.reservations.send(all, { batchRecords: 10, concurrency: 2 });
    const failure = await sendAll().catch((error: unknown) => error);
    assert.ok(failure instanceof SendError);
    assert.match(
      failure.message,
      /^20 records in 2 batches were not delivered: .* Name request hostile-\d+ when/,
    );
    assert.equal(failure.status, 500);
    assert.equal(failure.report.accepted, 40);
    const left = failure.report.unconfirmed.toSorted((one, other) => one.first - other.first);
    assert.deepEqual(
      left.map(({ first, count, given, code, status }) => ({ first, count, given, code, status })),
      [20, 40].map((first) => ({
        first,
        count: 10,
        given: all[first],
        code: "bellhop.http.Internal",
        status: 500,
      })),
    );
    for (const { requestId } of left) assert.match(String(requestId), /^hostile-\d+$/);
    plan.isMended = true;
    const report = await sendAll();
    assert.equal(report.accepted, 60);
    assertEachOnce(all);
  });

  test("ends the send with several of them in a row: it is the service, and it is not hammered", async () => {
    const bellhop = await started({ data: (count) => (count < 2 ? undefined : "500") }, hurried);
    const failure = await bellhop.reservations
      .send(records(400), { batchRecords: 1, concurrency: 2 })
      .catch((error: unknown) => error);
    assert.ok(failure instanceof SendError);
    assert.match(failure.message, /answered 500 to 5 batches one after another/);
    assert.equal(failure.report.accepted, 2);
    // One may have failed before the last was accepted, five were given up, and another was under way beside the last of them.
    assert.ok(failure.report.records <= 2 + 1 + 5 + 1, `${failure.report.records} records were taken`);
    const unconfirmed = failure.report.unconfirmed.reduce((sum, { count }) => sum + count, 0);
    assert.equal(unconfirmed, failure.report.records - 2);
  });
});

describe("a request whose outcomes always get 500", () => {
  for (const [what, lost] of [
    ["all of them", /000000000001/],
    ["the list of what was refused of it", /000000000001\?limit=1000/],
  ] as const)
    test(`${what}: it counts as pending, and the outcomes of the others are reported`, async () => {
      const none = { pending: 0, unchanged: 0, stale: 0, duplicate: 0, quarantined: 0, discarded: 0 };
      const refused = [{ index: 9, outcome: "rejected", code: "required", message: "It has no status." }];
      const counts = { ...none, applied: 9, rejected: 1, warned: 0 };
      const bellhop = await started(
        {
          get: ({ url = "" }, response) => {
            const isLost = lost.test(url);
            const of = { status: "applied", counts, records: refused, nextCursor: null };
            response.writeHead(isLost ? 500 : 200, { "content-type": "application/json" });
            response.end(JSON.stringify(isLost ? { exception: "bellhop.http.Internal" } : of));
          },
        },
        { retry: { forMs: 30, firstDelayMs: 2, delayMsMax: 4 } },
      );
      const options = { batchRecords: 10, concurrency: 1, lenient: true };
      const report = await bellhop.reservations.send(records(30), options);
      assert.deepEqual([report.accepted, report.rejectedTotal], [28, 2]);
      const { applied, rejected, pending } = report.outcomes ?? assert.fail();
      assert.deepEqual([applied, rejected, pending], [18, 2, 10]);
      assert.deepEqual(
        report.rejected.map(({ index }) => index),
        [9, 29],
      );
    });
});

describe("the report of refused records", () => {
  test("lists a record whose outcome is of a later release as not applied, with its message", async () => {
    const none = {
      unchanged: 0,
      stale: 0,
      duplicate: 0,
      quarantined: 0,
      discarded: 0,
      rejected: 0,
      warned: 0,
    };
    const later = { index: 2, outcome: "deferred", code: null, message: "It waits for its hotel.", more: {} };
    const bellhop = await started({
      get: (_request, response) => {
        const counts = { records: 5, pending: 0, applied: 4, ...none, deferred: 1 };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ status: "applied", counts, records: [later], nextCursor: null }));
      },
    });
    const report = await bellhop.reservations.send(records(5), { waitForOutcomes: true });
    assert.deepEqual(
      report.quarantined.map(({ index, outcome, code, message }) => [index, outcome, code, message]),
      [[2, "deferred", "deferred", "It waits for its hotel."]],
    );
    assert.deepEqual([report.accepted, report.rejectedTotal], [5, 0]);
  });
  test("names the caller's own records, in whatever batch they were", async () => {
    const bellhop = await started({});
    const all = records(50, (index) => (index % 10 === 3 || index >= 45 ? { broken: true } : {}));
    const reported: number[] = [];
    const report = await bellhop.reservations.send(all, {
      batchRecords: 20,
      onRefused: ({ index }) => reported.push(index),
    });
    const refused = [3, 13, 23, 33, 43, 45, 46, 47, 48, 49];
    assert.equal(report.accepted, 40);
    assert.equal(report.rejectedTotal, 10);
    const rejected = report.rejected.toSorted((one, other) => one.index - other.index);
    assert.deepEqual(
      rejected.map(({ index }) => index),
      refused,
    );
    assert.deepEqual(
      reported.toSorted((one, other) => one - other),
      refused,
    );
    for (const { index, record, code, message, violations } of rejected) {
      assert.equal(record, all[index]);
      assert.equal(code, "required");
      assert.equal(message, "status is missing");
      assert.deepEqual(violations, [
        { pointer: "/status", code: "required", message: "status is missing", index, record: all[index] },
      ]);
    }
    assertEachOnce(all, refused);
  });

  test("reports records of properties that are not granted, and accepts the others", async () => {
    const bellhop = await started({});
    const all = records(30, (index) => ({ propertyCode: index % 3 === 0 ? "FOREIGN" : `P${index % 3}` }));
    const report = await bellhop.reservations.send(all, { batchRecords: 10, concurrency: 1 });
    assert.equal(report.accepted, 20);
    assert.equal(report.rejectedTotal, 10);
    for (const { code, index } of report.rejected) {
      assert.equal(code, "oauth.insufficient_scope");
      assert.equal(index % 3, 0);
    }
  });

  test("cuts batches that are too large for this server", async () => {
    const bellhop = await started({ recordsMax: 3, bytesMax: 60 });
    const all = records(25, (index) => (index === 7 ? { propertyCode: "x".repeat(80) } : {}));
    const report = await bellhop.reservations.send(all, { batchRecords: 25 });
    assert.equal(report.accepted, 24);
    assert.deepEqual(
      report.rejected.map(({ index, code }) => ({ index, code })),
      [{ index: 7, code: "bellhop.http.PayloadTooLarge" }],
    );
    assertEachOnce(all, [7]);
  });

  test("rejects text that is not one JSON value, which would shift later indexes", async () => {
    const bellhop = await started({});
    const [first, second, third, fourth] = records(4).map((record) => JSON.stringify(record));
    const broken = JSON.stringify({ reservationId: "R-broken", broken: true });
    const lines = [
      `${first},${second}`,
      '{"reservationId":"R-half","a":[1',
      "2]}",
      broken,
      third,
      '"',
      fourth,
    ];
    const report = await bellhop.reservations.send(
      readRecords(Readable.from([Buffer.from(lines.join("\n"))])),
    );
    assert.equal(report.records, 7);
    assert.deepEqual([...server.accepted.keys()], ["R-2", "R-3"]);
    assert.deepEqual(
      report.rejected
        .map(({ index, code }) => [index, code])
        .toSorted(([one], [other]) => Number(one) - Number(other)),
      [
        [0, "client.NotJson"],
        [1, "client.NotJson"],
        [2, "client.NotJson"],
        [3, "required"],
        [5, "client.NotJson"],
      ],
    );
  });

  test("rejects records that cannot be serialized as JSON", async () => {
    const bellhop = await started({});
    const cycle: { reservationId: string; own?: unknown } = { reservationId: "R-cycle" };
    cycle.own = cycle;
    const odd = [{ reservationId: "R-big", numberOfRooms: 1n }, cycle, undefined];
    const report = await bellhop.reservations.send([...records(2), ...(odd as unknown as Reservation[])]);
    assert.equal(report.records, 5);
    assert.equal(report.accepted, 2);
    assert.deepEqual(
      report.rejected.map(({ index, code }) => ({ index, code })),
      [2, 3, 4].map((index) => ({ index, code: "client.NotJson" })),
    );
  });
});

describe("batches that were made before", () => {
  const batchOf = (some: readonly Reservation[]) =>
    new JsonBatch(new TextEncoder().encode(JSON.stringify(some)), some.length);

  test("are sent verbatim, beside records, and delivered once despite faults", async () => {
    const bellhop = await started({ data: (count) => (count < 4 ? MISDEEDS[count * 4] : undefined) });
    const all = records(40);
    const [third] = all.slice(10, 11);
    const indexes: number[] = [];
    const report = await bellhop.reservations.send(
      [batchOf(all.slice(0, 10)), third as Reservation, batchOf(all.slice(11))],
      { batchRecords: 5, onAccepted: (batch) => indexes.push(...batch.indexes) },
    );
    assert.deepEqual([report.records, report.accepted, report.batches], [40, 40, 3]);
    assert.deepEqual(
      indexes.toSorted((one, other) => one - other),
      all.map((_, index) => index),
    );
    assertEachOnce(all);
  });

  test("are split when refused, and each record is reported by its index in the input", async () => {
    const bellhop = await started({});
    const all = records(30, (index) => {
      if (index === 17) return { broken: true };
      return index % 10 === 4 ? { propertyCode: "FOREIGN" } : {};
    });
    const report = await bellhop.reservations.send([batchOf(all.slice(0, 12)), batchOf(all.slice(12))]);
    const refused = report.rejected.toSorted((one, other) => one.index - other.index);
    assert.deepEqual(
      refused.map(({ index, code }) => [index, code]),
      [
        [4, "oauth.insufficient_scope"],
        [14, "oauth.insufficient_scope"],
        [17, "required"],
        [24, "oauth.insufficient_scope"],
      ],
    );
    assert.deepEqual(JSON.parse(String(refused[2]?.record)), all[17]);
    assert.equal(report.accepted, 26);
    assertEachOnce(all, [4, 14, 17, 24]);
  });

  test("count their records as unconfirmed, and a wrong number stops a refused one", async () => {
    const bellhop = await started({ data: () => "500" }, { retry: { forMs: 1, firstDelayMs: 1 } });
    const error = await bellhop.reservations
      .send([batchOf(records(3)), batchOf(records(4))], { concurrency: 1 })
      .catch((cause: unknown) => cause);
    assert.ok(error instanceof SendError);
    assert.deepEqual(
      error.report.unconfirmed.map(({ first, count }) => [first, count]),
      [
        [0, 3],
        [3, 4],
      ],
    );
    await server.stop();
    const other = await started({});
    const wrong = new JsonBatch(new TextEncoder().encode(JSON.stringify([{ broken: true }])), 2);
    const refusal = await other.reservations.send([wrong]).catch((cause: unknown) => cause);
    assert.ok(refusal instanceof SendError);
    assert.equal(refusal.exception, "client.UnreadableInput");
    assertCovered(refusal.report);
  });
});

describe("what ends a send at once", () => {
  test("a wrong secret, with one token request", async () => {
    const bellhop = await started({ token: () => "a wrong secret" });
    const failure = await bellhop.reservations.send(records(40), { batchRecords: 1 }).catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal(failure.exception, "oauth.invalid_client");
    assert.equal(failure.status, 401);
    assert.equal(server.tokenRequests, 1);
    assert.equal(server.accepted.size, 0);
  });

  test("a token without the scope, before anything is sent", async () => {
    const bellhop = await started({ scope: "groups:write read" });
    const failure = await bellhop.reservations.send(records(4)).catch((error) => error);
    assert.equal(failure.exception, "oauth.insufficient_scope");
    assert.equal(server.arrivals.length, 0);
  });

  test("an outcome that cannot be read, with the parts of its batch that were not sent yet", async () => {
    const lost: HostilePlan["get"] = (_request, response) => void response.writeHead(404).end();
    const bellhop = await started({ recordsMax: 2, get: lost });
    const failure = await bellhop.reservations
      .send(records(4), { waitForOutcomes: true, concurrency: 1 })
      .catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal(failure.report.accepted, 2);
    assert.deepEqual(
      failure.report.unconfirmed.map(({ first, count, code }) => [first, count, code]),
      [[2, 2, "http.404"]],
    );
  });

  test("an error of the caller's own onAccepted, which unsends nothing", async () => {
    const bellhop = await started({ recordsMax: 2 });
    const onAccepted = () => {
      throw new Error("the disk is full");
    };
    const failure = await bellhop.reservations
      .send(records(4), { onAccepted, concurrency: 1 })
      .catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal(failure.report.accepted, 2);
    assertCovered(failure.report);
  });

  test("reports an address without a server by its name", async () => {
    const bellhop = await started({}, { retry: { forMs: 50 } });
    await server.stop();
    server = await HostileServer.start();
    const lost = await bellhop.reservations.send(records(1)).catch((error) => error);
    assert.equal(lost.exception, "client.Network");
    assert.match(lost.message, /cannot be reached.*ECONNREFUSED/);
  });

  test("the caller's signal, with a report", async () => {
    const stop = new AbortController();
    const bellhop = await started({ data: (count) => (count < 2 ? undefined : "silence") });
    const failure = await bellhop.reservations
      .send(records(10), {
        batchRecords: 1,
        concurrency: 1,
        signal: stop.signal,
        onProgress: ({ accepted }) => {
          if (accepted === 2) setImmediate(() => stop.abort(new Error("enough")));
        },
      })
      .catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal(failure.exception, "client.Interrupted");
    assert.equal((failure.cause as Error).message, "enough");
    assert.equal(failure.report.accepted, 2);
  });

  test("a failing source, whose error is the cause", async () => {
    const bellhop = await started({});
    async function* broken() {
      yield* records(3);
      throw new Error("the cursor was lost");
    }
    const failure = await bellhop.reservations.send(broken(), { batchRecords: 2 }).catch((error) => error);
    assert.ok(failure instanceof SendError);
    assert.equal((failure.cause as Error).message, "the cursor was lost");
  });
});
