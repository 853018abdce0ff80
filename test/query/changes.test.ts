import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { updateClient } from "../../src/identity/client-admin.ts";
import { BEGINNING } from "../../src/query/changes/change-cursor.ts";
import { ChangeWatch } from "../../src/query/changes/change-routes.ts";
import { readChanges } from "../../src/query/changes/read-changes.ts";
import { answerOf, CHANGES, compact, readFeed, readToEnd } from "../support/change-fixture.ts";
import { apply, group, inventory, parameterMessage, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** A partner of its own, so that no test sees the changes of another. */
async function partner(clientCode: string): Promise<TestClient> {
  return service.newClient({ grants: [{ clientCode, propertyCode: "*" }] });
}

describe("the change feed", () => {
  test("reports every new current content once, verbatim, and no unchanged records", async () => {
    const as = await partner("ONE");
    const of = (id: string, second: number, more = {}) =>
      reservation(id, at(second), { clientCode: "ONE", ...more });
    const send = (records: object[]) => apply(service, "reservations", records, { as });
    const first = await send([of("A", 2), of("B", 2, { "kept as sent": 1.5 })]);
    await send([of("A", 2), of("A", 3), of("A", 1, { status: "CANCELLED" })]);
    await send([of("A", 4, { status: "CANCELLED" })]);
    await apply(service, "groups", [group("G", at(2), { clientCode: "ONE" })], { as });
    await apply(service, "inventories", [inventory("2026-05-01", at(2), { clientCode: "ONE" })], { as });
    const { changes } = await readToEnd(service, "", undefined, { as });
    assert.deepEqual(
      changes.map((change) => `${change.resource} ${change.key} ${change.change}`),
      [
        "reservations A created",
        "reservations B created",
        "reservations A updated",
        "groups G created",
        "inventories 2026-05-01 created",
      ],
    );
    const [, second] = changes;
    assert.equal(second?.requestId, first);
    assert.equal(second?.index, 1);
    assert.equal(second?.sourceTime, "2026-01-01T00:00:02.000000Z");
    assert.deepEqual(second?.record, of("B", 2, { "kept as sent": 1.5 }));
    const text = (await service.get(CHANGES, { as })).text;
    assert.ok(text.includes(JSON.stringify(of("B", 2, { "kept as sent": 1.5 }))));
  });

  test("resumes after the cursor of any line, whatever the pages were", async () => {
    const as = await partner("WALK");
    // Over many buckets, some with more than one page of it.
    const records = Array.from({ length: 120 }, (_, n) =>
      reservation(`R${n}`, at(1), { clientCode: "WALK", propertyCode: `P${n % 3 === 0 ? 0 : n % 23}` }),
    );
    await apply(service, "reservations", records, { as });
    const whole = (await readToEnd(service, "limit=10000", undefined, { as })).changes.map(compact);
    assert.equal(new Set(whole).size, 120);
    for (const limit of [1, 7, 64, 119, 120]) {
      const { changes } = await readToEnd(service, `limit=${limit}`, undefined, { as });
      assert.deepEqual(changes.map(compact).sort(), whole.toSorted(), `limit ${limit}`);
    }
    const page = await readFeed(service, "limit=20", { as });
    assert.equal(page.changes.length, 20);
    for (const [n, { cursor }] of page.changes.entries()) {
      const reported = page.changes.slice(0, n + 1).map(compact);
      const rest = (await readToEnd(service, "limit=10000", cursor, { as })).changes.map(compact);
      assert.deepEqual([...reported, ...rest].sort(), whole.toSorted(), `after line ${n}`);
    }
  });

  test("a large record is whole on its line, also on the first of an answer", async () => {
    const as = await partner("LARGE");
    const records = [60_000, 70_000, 300_000].map((characters, n) =>
      reservation(`R${n}`, at(1), { clientCode: "LARGE", remark: "x".repeat(characters) }),
    );
    await apply(service, "reservations", records, { as });
    for (const limit of [1, 2, 3]) {
      const { changes } = await readToEnd(service, `limit=${limit}`, undefined, { as });
      assert.deepEqual(
        changes.map(({ record }) => record),
        records,
        `limit ${limit}`,
      );
    }
  });

  test("a record that was sent on several lines is on one", async () => {
    const as = await partner("LINES");
    const record = reservation("A", at(1), { clientCode: "LINES", remark: "one\r\ntwo" });
    const lines = JSON.stringify([record], null, 2).replaceAll("\n", "\r\n");
    await apply(service, "reservations", lines, { as });
    const { changes } = await readToEnd(service, "", undefined, { as });
    assert.deepEqual(
      changes.map((change) => change.record),
      [record],
    );
  });

  test("keeps the order of each record during writes, and ends with the current records", async () => {
    const as = await partner("LIVE");
    const ROUNDS = 12;
    let written = 0;
    const writers = Array.from({ length: 3 }, async (_, writer) => {
      for (let second = 1; second <= ROUNDS; second += 1) {
        const of = (n: number) =>
          reservation(`R${n}`, at(second), {
            clientCode: "LIVE",
            propertyCode: `P${n}`,
            remark: `${writer}/${second}`,
          });
        await apply(service, "reservations", [0, 1, 2, 3].map(of), { as });
        written += 1;
      }
    });
    const reported = new Map<string, string[]>();
    let cursor: string | undefined;
    let isLast = false;
    const done = Promise.all(writers);
    for (;;) {
      const page = await readFeed(service, `limit=9${cursor === undefined ? "" : `&cursor=${cursor}`}`, {
        as,
      });
      for (const { key, record } of page.changes)
        reported.set(key, [...(reported.get(key) ?? []), JSON.stringify(record)]);
      cursor = page.cursor;
      if (isLast && page.caughtUp) break;
      if (page.caughtUp) isLast = written === 3 * ROUNDS;
    }
    await done;
    for (const [key, texts] of reported) {
      assert.equal(new Set(texts).size, texts.length, `${key} was reported the same twice`);
      const times = texts.map((text) =>
        String((JSON.parse(text) as Record<string, unknown>)["lastModifiedDateTime"]),
      );
      assert.deepEqual(times, times.toSorted(), key);
      const query = `clientCode=LIVE&propertyCode=P${key.slice(1)}&reservationId=${key}`;
      const current = (await service.get(`/api/public/v1/reservations?${query}`, { as })).text;
      assert.ok(current.includes(texts.at(-1) ?? "-"), key);
    }
    assert.equal(reported.size, 4);
  });

  test("whatever is applied between any two statements of a reader is reported, also of properties that are new", async () => {
    const as = await partner("RACE");
    const { pool } = service;
    let written = 0;
    const racing = {
      async query(...statement: unknown[]) {
        const of = { clientCode: "RACE", propertyCode: `P${written}` };
        await apply(service, "reservations", [reservation(`R${written}`, at(1), of)], { as });
        written += 1;
        return (pool.query as (...all: unknown[]) => unknown)(...statement);
      },
    } as unknown as typeof pool;
    const filter = { granted: new Map([["RACE", new Set(["*"])]]) };
    const reported: string[] = [];
    let positions = BEGINNING;
    for (let call = 0; call < 12; call += 1) {
      const page = await readChanges(call < 11 ? racing : pool, positions, filter, 100);
      reported.push(...page.changes.map(({ key }) => key));
      positions = page.positions;
    }
    const all = Array.from({ length: written }, (_, n) => `R${n}`);
    assert.deepEqual(reported.toSorted(), all.toSorted());
  });

  test("reports only requested and granted changes, and skips the rest", async () => {
    const both = await service.newClient({
      grants: [
        { clientCode: "FX", propertyCode: "*" },
        { clientCode: "FY", propertyCode: "Y1" },
      ],
    });
    const other = await service.newClient({ grants: [{ clientCode: "FY", propertyCode: "*" }] });
    for (const [clientCode, propertyCode] of [
      ["FX", "X1"],
      ["FX", "X2"],
      ["FY", "Y1"],
      ["FY", "Y2"],
    ] as const) {
      const of = { clientCode, propertyCode };
      const as = clientCode === "FX" ? both : other;
      await apply(service, "reservations", [reservation(propertyCode, at(1), of)], { as });
      await apply(service, "groups", [group(propertyCode, at(1), of)], { as });
    }
    const keys = async (query: string, as = both) => {
      const { changes } = await readToEnd(service, query, undefined, { as });
      return changes.map(({ resource, key }) => `${resource.slice(0, 1)}${key}`).sort();
    };
    assert.deepEqual(await keys(""), ["gX1", "gX2", "gY1", "rX1", "rX2", "rY1"]);
    assert.deepEqual(await keys("resource=groups"), ["gX1", "gX2", "gY1"]);
    assert.deepEqual(await keys("clientCode=FX"), ["gX1", "gX2", "rX1", "rX2"]);
    assert.deepEqual(await keys("clientCode=FY&propertyCode=Y1&resource=reservations"), ["rY1"]);
    assert.deepEqual(await keys("clientCode=FX&propertyCode=NEVER"), []);
    assert.deepEqual(await keys("", other), ["gY1", "gY2", "rY1", "rY2"]);
    for (const query of ["clientCode=FY&propertyCode=Y2", "clientCode=FZ"]) {
      const refused = await service.get(`${CHANGES}?${query}`, { as: both });
      assert.deepEqual([refused.status, refused.text], [403, ""], query);
    }
  });

  test("refuses cursors of another client or query, invented ones, and positions that no change has reached", async () => {
    const as = await partner("CUR");
    await apply(service, "reservations", [reservation("C", at(1), { clientCode: "CUR" })], { as });
    const { cursor } = await readFeed(service, "", { as });
    const refused = [
      [`cursor=${cursor}`, await partner("CUR")],
      [`cursor=${cursor}&resource=groups`, as],
      [`cursor=${cursor.slice(0, -2)}`, as],
      ["cursor=", as],
      ["cursor=AAAA", as],
      [`cursor=${"A".repeat(5_000)}`, as],
    ] as const;
    for (const [query, by] of refused) {
      const message = parameterMessage(await service.get(`${CHANGES}?${query}`, { as: by }));
      assert.match(message, /^cursor takes the cursor of a line/, query);
    }
    for (const [query, message] of [
      [`cursor=${cursor}&from=now`, /^from=now starts a new feed/],
      ["from=yesterday", /^from takes one of: beginning, now/],
      ["limit=0", /^limit takes a whole number from 1 to 10000/],
      ["wait=31", /^wait takes a whole number from 0 to 30/],
      ["resource=guests", /^resource takes one of/],
      ["propertyCode=LIS01", /^propertyCode requires its clientCode/],
      ["since=now", /is not known/],
    ] as const)
      assert.match(parameterMessage(await service.get(`${CHANGES}?${query}`, { as })), message, query);
    const none = await service.get(CHANGES, { as: null });
    assert.equal(none.status, 401);
    const head = await service.send("HEAD", `${CHANGES}?wait=30`, { as });
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  });

  test("answers a waiting question as soon as there is something, and otherwise when its time is over", async () => {
    const as = await partner("WAIT");
    const { cursor } = await readFeed(service, "from=now", { as });
    const over = await readFeed(service, `cursor=${cursor}&wait=1`, { as });
    assert.deepEqual([over.changes, over.caughtUp], [[], true]);
    let isAnswered = false;
    const waiting = readFeed(service, `cursor=${cursor}&wait=30`, { as }).finally(() => {
      isAnswered = true;
    });
    // Changes of others do not end it, and are passed.
    const others = await partner("OTHERS");
    const noise = reservation("N", at(1), { clientCode: "OTHERS" });
    await apply(service, "reservations", [noise], { as: others });
    assert.equal(isAnswered, false);
    await apply(service, "reservations", [reservation("W", at(1), { clientCode: "WAIT" })], { as });
    const { changes } = await waiting;
    assert.deepEqual(
      changes.map(({ key }) => key),
      ["W"],
    );
  });

  test("applies a removed or added grant while it waits", async () => {
    const as = await service.newClient({
      grants: ["P1", "P2"].map((propertyCode) => ({ clientCode: "RIGHTS", propertyCode })),
    });
    const writer = await partner("RIGHTS");
    const write = (propertyCode: string, second: number) =>
      apply(
        service,
        "reservations",
        [reservation(propertyCode, at(second), { clientCode: "RIGHTS", propertyCode, remark: `${second}` })],
        { as: writer },
      );
    const { internals } = service.service.authenticator;
    const grant = async (...codes: string[]) => {
      const grants = codes.map((propertyCode) => ({ clientCode: "RIGHTS", propertyCode }));
      await updateClient({ internals, who: "cli:test" }, as.clientId, { grants });
      await service.service.authenticator.renew();
    };
    await write("P1", 1);
    const { cursor } = await readToEnd(service, "", undefined, { as });
    const waiting = readFeed(service, `cursor=${cursor}&wait=30`, { as });
    await grant("P2", "P3");
    await write("P1", 2);
    await write("P3", 1);
    const reported = await waiting;
    assert.deepEqual(
      reported.changes.map(({ key }) => key),
      ["P3"],
    );
    await grant("P1", "P3");
    const later = await readToEnd(service, "", reported.cursor, { as });
    // What was written while it had no right to it was passed by.
    assert.deepEqual(later.changes, []);
    const waitingOn = service.get(`${CHANGES}?cursor=${later.cursor}&wait=30`, { as });
    await updateClient({ internals, who: "cli:test" }, as.clientId, { scopes: ["groups:write"] });
    await service.service.authenticator.renew();
    await write("P1", 3);
    assert.equal((await waitingOn).status, 403);
  });

  test("however many wait, the counters are looked at once for all of them", async () => {
    let asked = 0;
    const { pool } = service;
    const counted = {
      query(...statement: unknown[]) {
        asked += 1;
        return (pool.query as (...all: unknown[]) => unknown)(...statement);
      },
    } as unknown as typeof pool;
    const watch = new ChangeWatch(counted);
    const positions = new Map((await readEnds()).map(({ bucket, last }) => [bucket, last]));
    const waits = Array.from({ length: 80 }, (_, n) =>
      watch.wait({ who: `c${n % 2}`, positions, waitMsMax: 60_000 }),
    );
    await until(() => asked >= 6, 60_000);
    // The first also asked once whether the tables are distributed.
    const as = await partner("LOOK");
    await apply(service, "reservations", [reservation("L", at(1), { clientCode: "LOOK" })], { as });
    assert.deepEqual(new Set(await Promise.all(waits)), new Set([true]));
    const before = asked;
    assert.ok(before < 80, `${before} statements`);
    const many = Array.from({ length: 100 }, () =>
      watch.wait({ who: "one", positions: new Map(), waitMsMax: 60_000 }),
    );
    assert.equal(await watch.wait({ who: "one", positions: new Map(), waitMsMax: 60_000 }), false);
    watch.end();
    assert.deepEqual(new Set(await Promise.all(many)), new Set([false]));
  });

  async function readEnds() {
    const { rows } = await service.pool.query<{ bucket: number; last: number }>(
      "select bucket, (max(next_change) - 1)::integer as last from bellhop.change_counter group by bucket",
    );
    return rows;
  }

  test("resumes at the same cursor after a replay has swapped tables, and reports its corrections", async () => {
    const as = await partner("REPLAY");
    const of = (id: string, second: number) => reservation(id, at(second), { clientCode: "REPLAY" });
    await apply(service, "reservations", [of("A", 1), of("B", 1)], { as });
    const first = await readFeed(service, "limit=1", { as });
    const end = await readToEnd(service, "", undefined, { as });
    await service.pool.query(
      "update bellhop_state.current_record set content_hash = '\\x00' where key = 'B' and property_id = (select property_id from bellhop.property where client_code = 'REPLAY')",
    );
    const { clientConfig, pool } = service.database;
    const report = await replay({ clientConfig, pool, swap: true });
    assert.equal(report.corrected, 1);
    const again = await readToEnd(service, "", first.cursor, { as });
    assert.deepEqual(
      again.changes.map(({ key, change }) => `${key} ${change}`),
      ["B updated"],
    );
    const corrected = await readToEnd(service, "", end.cursor, { as });
    assert.deepEqual(
      corrected.changes.map(({ key }) => key),
      ["B"],
    );
    await apply(service, "reservations", [{ ...of("A", 2), status: "CANCELLED" }], { as });
    const last = await readToEnd(service, "", corrected.cursor, { as });
    assert.deepEqual(last.changes.map(compact), ["reservations LIS01 A 2026-01-01T00:00:02"]);
  });

  test("a cursor from before the database was restored is gone", async () => {
    const as = await partner("GONE");
    await apply(service, "reservations", [reservation("A", at(1), { clientCode: "GONE" })], { as });
    const { cursor } = await readToEnd(service, "", undefined, { as });
    await service.pool.query("update bellhop.change_counter set next_change = 1 where next_change > 1");
    const answer = await service.get(`${CHANGES}?cursor=${cursor}`, { as });
    assert.equal(answer.status, 410);
    assert.equal(answer.json()["exception"], "bellhop.feed.CursorGone");
  });
});

test("a stopping service responds to waiting clients", async () => {
  const leaving = await startTestService();
  const { cursor } = await readFeed(leaving, "from=now");
  const { rows } = await leaving.pool.query<{ now: string }>("select clock_timestamp()::text as now");
  const waiting = leaving.get(`${CHANGES}?cursor=${cursor}&wait=30`);
  await until(async () => {
    const { rowCount } = await leaving.pool.query(
      "select from pg_stat_activity where query like '%last_change%' and query_start > $1 and pid <> pg_backend_pid()",
      [rows[0]?.now],
    );
    return (rowCount ?? 0) > 0;
  }, 60_000);
  await leaving.stop();
  assert.deepEqual(answerOf((await waiting).text).changes, []);
});
