import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { createPool, readFor } from "../../src/platform/db/connection.ts";
import { createLoggerTo } from "../../src/platform/telemetry/log.ts";
import { BACKFILLS, open } from "../support/backfill-fixture.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { addProperty, askInsight, insightItems } from "../support/insight-fixture.ts";
import { type ModelRun, writeNights } from "../support/insight-model.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import {
  apply,
  group,
  inventory,
  LISBON,
  parameterMessage,
  readRequest,
  reservation,
} from "../support/read-fixture.ts";
import { type Answer, startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { dayOf } from "../workload/calendar-day.ts";

/** Far less than a statement may take where nobody stops it. */
const STOPPED_MS_MAX = 5_000;

const NIGHTS = `${LISBON}&from=2026-07-01&to=2026-07-31`;
const QUESTIONS = [
  `on-the-books?${NIGHTS}`,
  `pickup?${NIGHTS}&since=2026-01-01T00:00:00Z`,
  `pace?${NIGHTS}`,
  `blocks?${NIGHTS}`,
  `reconciliation?${NIGHTS}`,
  `reconciliation/night?${LISBON}&stayDate=2026-07-14`,
  `feed-health?${LISBON}`,
];
const LISTS = [`reservations?${LISBON}`, `reservations/history?${LISBON}&reservationId=r1`];

let service: TestService;
let session: ConsoleSession;
before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  await apply(service, "reservations", [reservation("r1", "2026-06-01T00:00:00Z")]);
  await apply(service, "inventories", [inventory("2026-07-14", "2026-06-01T00:00:00Z")]);
  await apply(service, "groups", [group("G1", "2026-06-01T00:00:00Z")]);
});
after(() => service.stop());

/** While a session of the test's own has tables to itself, whoever reads them waits. */
async function whileLocked(tables: string, work: () => Promise<void>): Promise<void> {
  const holder = new pg.Client(service.database.clientConfig);
  await holder.connect();
  try {
    await holder.query("set idle_in_transaction_session_timeout = 0");
    await holder.query("begin");
    await holder.query(`lock table ${tables} in access exclusive mode`);
    await work();
  } finally {
    await holder.end();
  }
}

const waiting = () => waitingForLock(service.pool, "%bellhop%");

/** Asks, leaves once the statement waits, and waits until the server has none any more. */
async function leave(path: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const client = new AbortController();
  const answer = fetch(new URL(path, service.address), { headers, signal: client.signal });
  const failed = assert.rejects(answer, { name: "AbortError" });
  await until(async () => (await waiting()) > 0, 20_000);
  client.abort();
  await failed;
  await until(async () => (await waiting()) === 0, STOPPED_MS_MAX);
}

// Not feed_arrival, which the service's own survey reads, too: it would wait for as long as the lock is held.
const QUESTIONED = "bellhop_state.night_dimension, bellhop_state.current_record";
const LISTED = "bellhop_state.current_record, bellhop_state.reservation_version";

describe("the statement of a disconnected client is cancelled", () => {
  test("of each question", async () => {
    const headers = { authorization: `Bearer ${await service.token()}` };
    await whileLocked(QUESTIONED, async () => {
      for (const question of QUESTIONS) await leave(`/api/insight/v1/${question}`, headers);
    });
  });

  test("of each question of an operator", async () => {
    await whileLocked(QUESTIONED, async () => {
      for (const question of QUESTIONS)
        await leave(`/console/api/insight/${question}`, { cookie: session.cookie });
    });
  });

  test("of each list, of partners and of operators", async () => {
    const headers = { authorization: `Bearer ${await service.token()}` };
    await whileLocked(LISTED, async () => {
      for (const list of LISTS) await leave(`/api/public/v1/${list}`, headers);
      await leave(`/console/api/calendar?${NIGHTS}`, { cookie: session.cookie });
    });
  });

  test("and the node answers as before", async () => {
    for (const question of QUESTIONS) {
      const { status, text } = await service.get(`/api/insight/v1/${question}`);
      assert.equal(status, 200, text);
    }
    assert.deepEqual(
      service.logLines().filter((line) => line.includes("request failed")),
      [],
    );
  });
});

test("no question, however slow, keeps a batch from being accepted and applied, nor a record from being read", async () => {
  const others = await Promise.all(Array.from({ length: 5 }, () => service.newClient()));
  let settled = 0;
  let asked: Promise<number>[] = [];
  await whileLocked("bellhop_state.block_entry", async () => {
    asked = others.flatMap((as) =>
      Array.from({ length: 3 }, async () => {
        const answer = await service.get(`/api/insight/v1/blocks?${NIGHTS}`, { as });
        settled += 1;
        return answer.status;
      }),
    );
    await until(async () => (await waiting()) > 0, 20_000);
    await apply(service, "reservations", [reservation("r2", "2026-06-02T00:00:00Z")]);
    const read = await service.get(`/api/public/v1/reservations?${LISBON}&reservationId=r2`);
    assert.equal((read.json()["items"] as object[]).length, 1);
    assert.equal(settled, 0);
  });
  for (const status of await Promise.all(asked)) assert.equal(status, 200);
});

/** Opens a backfill, and answers how its progress is asked for. */
async function openedBackfill(as: TestClient): Promise<() => Promise<Answer>> {
  const resources = [{ resource: "groups", from: "2026-01-01", to: "2026-01-31" }];
  const path = `${BACKFILLS}/${await open(service, "LIS01", resources, { as })}`;
  return () => service.get(path, { as });
}

const summing = () => waitingForLock(service.pool, "%sum(log.batch_record_count)%");

test("backfills leave a connection to the insights of others", async () => {
  const loading = await Promise.all(Array.from({ length: 4 }, () => service.newClient()));
  const progress = await Promise.all(loading.map(openedBackfill));
  let asked: Promise<Answer>[] = [];
  await whileLocked("bellhop.quarantine", async () => {
    asked = progress.map((ask) => ask());
    await until(async () => (await summing()) > 1, 20_000);
    // Those sent before have reached the database by then, if they do.
    for (let n = 0; n < 5; n += 1) await service.get(BACKFILLS);
    const answer = await service.get(`/api/insight/v1/blocks?${NIGHTS}`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await summing(), 2);
  });
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
});

test("an insight waits no longer for its turn than for its answer", async () => {
  const as = await service.newClient();
  const progress = await openedBackfill(as);
  let answered = 0;
  let asked: Promise<void>[] = [];
  await whileLocked("bellhop.quarantine", async () => {
    asked = Array.from({ length: 3 }, async () => {
      await progress();
      answered += 1;
    });
    await until(async () => (await summing()) > 0, 20_000);
    const answer = await service.get(`/api/insight/v1/blocks?${NIGHTS}`, { as });
    assert.deepEqual([answer.status, answer.json()["exception"]], [503, "bellhop.insight.TimedOut"]);
    assert.ok(answered < 3);
  });
  await Promise.all(asked);
  assert.equal((await service.get(`/api/insight/v1/blocks?${NIGHTS}`, { as })).status, 200);
});

test("a query may ask for 1,100 nights, and is refused with that limit beyond", async () => {
  for (const name of ["on-the-books", "pickup", "pace", "blocks", "reconciliation"]) {
    const since = name === "pickup" ? "&since=2026-01-01T00:00:00Z" : "";
    const ask = (to: string) =>
      service.get(`/api/insight/v1/${name}?${LISBON}&from=2026-01-01&to=${to}${since}`);
    assert.equal((await ask("2029-01-04")).status, 200);
    assert.match(parameterMessage(await ask("2029-01-05")), /at most 1100 nights.*in parts/);
  }
});

test("a statement heeds the reader that it is for, and no other that had its connection before", async () => {
  const log = createLoggerTo(process.stderr, "fatal");
  const pool = createPool(service.database.clientConfig, log, 1);
  const [first, second] = [new AbortController(), new AbortController()];
  const sleeping = () => running("select pg_sleep(%");
  try {
    const held = await readFor(first.signal, () => pool.connect());
    const queued = readFor(second.signal, () => pool.query("select pg_sleep(60)"));
    const failed = assert.rejects(queued, /second/);
    readFor(first.signal, () => held.release());
    await until(async () => (await sleeping()) === 1, 20_000);
    first.abort(new Error("first"));
    assert.equal(await sleeping(), 1);
    second.abort(new Error("second"));
    await failed;
    await until(async () => (await sleeping()) === 0, STOPPED_MS_MAX);
    await assert.rejects(
      readFor(second.signal, () => pool.query("select 1")),
      /second/,
    );
    assert.equal((await pool.query("select 1")).rowCount, 1);
  } finally {
    await pool.end();
  }
});

test("a burst opens the connections of a pool one at a time, as many as it may while statements wait", async () => {
  const log = createLoggerTo(process.stderr, "fatal");
  const size = 4;
  const pool = createPool(service.database.clientConfig, log, size);
  const holder = new pg.Client(service.database.clientConfig);
  await holder.connect();
  let connected = 0;
  const opening: number[] = [];
  pool.on("connect", () => {
    opening.push(pool.totalCount - connected);
    connected++;
  });
  try {
    await holder.query("select pg_advisory_lock(4_711)");
    const burst = Array.from({ length: 2 * size }, () =>
      pool.query("select pg_advisory_lock_shared(4_711), pg_advisory_unlock_shared(4_711)"),
    );
    assert.equal(pool.totalCount, 1);
    await until(() => connected === size, 20_000);
    await holder.query("select pg_advisory_unlock(4_711)");
    await Promise.all(burst);
    assert.deepEqual(opening, [1, 1, 1, 1]);
    assert.equal(pool.waitingCount, 0);
  } finally {
    await holder.end();
    await pool.end();
  }
});

/** How many statements like a pattern run. */
async function running(pattern: string): Promise<number> {
  const { rows } = await service.pool.query(
    "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like $1",
    [pattern],
  );
  return rows.length;
}

test("rows per night are estimated first: the query is split, or refused if it cannot be", async () => {
  const run: ModelRun = {
    status: "CONFIRMED",
    first: dayOf("2026-01-01"),
    nights: 1_100,
    rooms: 1,
    adults: 2,
    children: 0,
    net: 100,
    gross: null,
    roomType: "DLX",
    bookedRoomType: null,
    marketSegment: null,
    group: null,
    rateCode: null,
    channel: null,
    currency: "EUR",
  };
  const at = { sourceTime: "2026-01-01T00:00:00.000000Z", receivedAt: "2026-01-01T00:00:01.000000Z" };
  const sharers = Array.from({ length: 920 }, (_, key) => ({
    ...at,
    key: `r${key}`,
    shareId: `s${key % 10}`,
  }));
  const place = await addProperty(service, "SHARED");
  await writeNights(
    service.pool,
    place,
    sharers.map((sharer) => ({ ...sharer, runs: [run] })),
  );
  const asked = { clientCode: "ACME", propertyCode: "SHARED", from: "2026-01-01", to: "2029-01-04" };
  for (const name of ["on-the-books", "reconciliation"]) {
    const year = { ...asked, to: "2026-12-31", limit: "10000" };
    const nights = await insightItems(service, name, year);
    assert.equal(nights.length, 365, name);
    assert.ok(
      nights.every(({ rooms, rebuilt }) => (rooms ?? rebuilt) === 10),
      name,
    );
  }
  const refused = await askInsight(service, "pace", asked);
  assert.equal(refused.status, 400, refused.text);
  assert.equal(refused.json()["exception"], "bellhop.insight.TooLarge");
  assert.match(String(refused.json()["message"]), /2026-01-01 to 2029-01-04 need more rows.*fewer nights/);
  assert.equal((await askInsight(service, "pace", { ...asked, to: "2026-01-31" })).status, 200);
  await service.pool.query(
    `insert into bellhop_state.night_entry (source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children,
      bucket, key, share_id)
    select source_time, received_at, dimension, property_id, '2026-01-25', 1, rooms, adults, children, bucket, 'n' || number, share_id
    from (select * from bellhop_state.night_entry where bucket = $1 and property_id = $2 limit 1) as one, generate_series(1, 200_001) as number`,
    [place.bucket, place.propertyId],
  );
  const crowded = { ...asked, from: "2026-01-25", to: "2026-01-31" };
  const night = (stayDate: string) =>
    askInsight(service, "reconciliation/night", { clientCode: "ACME", propertyCode: "SHARED", stayDate });
  for (const answer of [await askInsight(service, "movements", crowded), await night("2026-01-25")])
    assert.equal(answer.json()["exception"], "bellhop.insight.TooLarge", answer.text);
  // An explained night reads fewer nights around, movements stop before.
  for (const answer of [
    await askInsight(service, "movements", { ...crowded, from: "2026-01-26" }),
    await night("2026-01-10"),
  ])
    assert.equal(answer.status, 200, answer.text);
});

describe("a record of more than insight counts", () => {
  const LONG = { clientCode: "ACME", propertyCode: "LONG" };
  const july = { ...LONG, from: "2026-07-01", to: "2026-07-31" };
  const stay = (departureDate: string) => ({ arrivalDate: "2026-07-14", departureDate, roomTypeCode: "DLX" });
  const blocksOf = (count: number) =>
    Array.from({ length: count }, () => ({ occupancyDate: "2026-07-14", roomTypeCode: "DLX", blocks: 1 }));
  const roomsOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ roomTypeCode: `T${at}`, roomTypeCapacity: 1, roomsSold: 1 }));
  const warningsOf = async (resource: string, record: object) => {
    const { records } = await readRequest(service, await apply(service, resource, [record]));
    return records.flatMap(({ outcome, warnings }) =>
      (warnings as { code: string }[]).map(({ code }) => `${outcome} ${code}`),
    );
  };

  test("is applied with a warning, read back completely, and excluded until a smaller version replaces it", async () => {
    const of = (modified: string, departure: string) =>
      reservation("r1", modified, { ...LONG, roomStays: [stay("2026-07-16"), stay(departure)] });
    assert.deepEqual(await warningsOf("reservations", of("2026-01-02T00:00:00Z", "9999-12-31")), [
      "applied reservation.too-many-nights",
      "applied reservation.overlapping-stays",
      "applied time.implausible",
    ]);
    const read = await service.get(`/api/public/v1/reservations?${new URLSearchParams(LONG)}`);
    assert.equal((read.json()["items"] as object[]).length, 1);
    assert.deepEqual(await insightItems(service, "on-the-books", july), []);
    await apply(service, "reservations", [of("2026-01-03T00:00:00Z", "2026-07-15")]);
    const books = async () =>
      (await insightItems(service, "on-the-books", july)).map((item) => item["rooms"]);
    assert.deepEqual(await books(), [1, 1]);
    // Late: it is not what counts.
    await apply(service, "reservations", [of("2026-01-01T00:00:00Z", "2030-07-15")]);
    assert.deepEqual(await books(), [1, 1]);
    await apply(service, "reservations", [of("2026-01-04T00:00:00Z", "2030-07-15")]);
    assert.deepEqual(await books(), []);
  });

  test("so are a group of more blocks, and an inventory record of more room types", async () => {
    const groupOf = (groupBlocks: object[]) =>
      group("G1", "2026-01-01T00:00:00Z", {
        ...LONG,
        startDate: "2026-07-14",
        endDate: "2026-07-14",
        groupBlocks,
      });
    assert.deepEqual(await warningsOf("groups", groupOf(blocksOf(11_001))), [
      "applied group.too-many-blocks",
    ]);
    assert.deepEqual(await insightItems(service, "blocks", july), []);
    const inventoryOf = (created: string, count: number) =>
      inventory("2026-07-14", created, { ...LONG, roomTypeInventories: roomsOf(count) });
    assert.deepEqual(await warningsOf("inventories", inventoryOf("2026-01-02T00:00:00Z", 1_001)), [
      "applied inventory.too-many-room-types",
    ]);
    const reported = async () => [
      ...(await insightItems(service, "on-the-books", july)).map((item) => item["capacity"]),
      ...(await insightItems(service, "reconciliation", july)).map((item) => item["reported"]),
    ];
    assert.deepEqual(await reported(), []);
    await apply(service, "inventories", [inventoryOf("2026-01-03T00:00:00Z", 1_000)]);
    assert.deepEqual(await reported(), [1_000, 1_000]);
  });
});
