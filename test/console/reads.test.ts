import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AuditItem } from "../../src/identity/console-answers.ts";
import type {
  CalendarAnswer,
  ClientCodesAnswer,
  IntakeAnswer,
  PortfolioAnswer,
  SearchAnswer,
} from "../../src/insight/console/answers.ts";
import type { Page } from "../../src/platform/http/answers.ts";
import type {
  QuarantineAnswer,
  QuarantineItem,
  QuarantinePageAnswer,
  RecordAnswer,
  RequestAnswer,
  RequestItem,
  ResolveAnswer,
  VersionItem,
} from "../../src/query/console/answers.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { apply, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let session: ConsoleSession;
let other: TestClient;
before(async () => {
  service = await startTestService();
  other = await service.newClient({
    name: "Second partner",
    grants: [{ clientCode: "OTHER", propertyCode: "*" }],
  });
  session = await logInAsNew(service, "anna");
});
after(() => service.stop());

const ids = (page: Page<RequestItem>) => page.items.map(({ requestId }) => requestId);
const list = (query: string) => session.read<Page<RequestItem>>(`requests?${query}`);
const FUTURE = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, "");
const LISBON = "clientCode=ACME&propertyCode=LIS01";

describe("requests", () => {
  test("of every client are found by property, client, resource, outcome, time and the beginning of their id", async () => {
    const good = await apply(service, "reservations", [reservation("q1", "2026-01-01T00:00:00Z")]);
    const quarantined = await apply(service, "reservations", [
      reservation("q2", "2026-01-01T00:00:00Z"),
      reservation("q3", FUTURE),
    ]);
    const foreign = await apply(
      service,
      "inventories",
      [{ ...inventory("2026-07-01", "2026-01-01T00:00:00Z"), clientCode: "OTHER", propertyCode: "MAD01" }],
      { as: other },
    );
    assert.deepEqual(ids(await list("")), [foreign, quarantined, good]);
    assert.deepEqual(ids(await list(`clientId=${other.clientId}`)), [foreign]);
    assert.deepEqual(ids(await list(LISBON)), [quarantined, good]);
    assert.deepEqual(ids(await list("clientCode=OTHER&propertyCode=MAD01")), [foreign]);
    assert.deepEqual(ids(await list("resource=inventories")), [foreign]);
    assert.deepEqual(ids(await list("outcome=failed")), [quarantined]);
    assert.deepEqual(ids(await list("outcome=quarantined")), [quarantined]);
    assert.deepEqual(ids(await list("outcome=pending")), []);
    assert.deepEqual(ids(await list(`id=${quarantined}`)), [quarantined]);
    assert.deepEqual(ids(await list(`id=${quarantined.slice(0, 20).toUpperCase()}`)), [quarantined]);
    assert.deepEqual(ids(await list("id=0123")), []);
    const [first] = (await list(`id=${quarantined}`)).items;
    assert.equal(first?.clientId, service.client.clientId);
    assert.equal(first?.clientName, "Partner");
    assert.deepEqual(ids(await list(`from=${first?.receivedAt}&to=${first?.receivedAt}`)), [quarantined]);
    const page = await list("limit=2");
    assert.deepEqual(ids(page), [foreign, quarantined]);
    assert.deepEqual(ids(await list(`limit=2&cursor=${page.nextCursor}`)), [good]);
  });

  test("are refused a filter that is not known, or half a property", async () => {
    for (const query of [
      "status=x",
      "propertyCode=LIS01",
      "outcome=bad",
      "id=zzzz",
      "id=abc",
      "limit=0",
      "from=now",
    ])
      assert.equal((await session.get(`requests?${query}`)).status, 400, query);
    const cursor = (await list("limit=1")).nextCursor;
    assert.equal((await session.get(`requests?limit=1&resource=groups&cursor=${cursor}`)).status, 400);
  });

  test("are reported record by record: outcome, reason and payload", async () => {
    const body = [
      reservation("r1", "2026-01-01T00:00:00Z", { status: "NOBODY KNOWS" }),
      { clientCode: "ACME", propertyCode: "LIS01", reservationId: 7 },
      reservation("r2", FUTURE),
      reservation("r3", "2026-01-01T00:00:00Z"),
    ];
    const requestId = await apply(service, "reservations", body, { headers: { prefer: "handling=lenient" } });
    const notable = await session.read<RequestAnswer>(`requests/${requestId}`);
    assert.deepEqual(
      notable.records.map(({ index, outcome }) => [index, outcome]),
      [
        [0, "applied"],
        [1, "rejected"],
        [2, "quarantined"],
      ],
    );
    assert.equal(notable.records[0]?.warnings[0]?.pointer, "/0/status");
    assert.ok((notable.records[1]?.violations?.length ?? 0) > 0);
    const all = await session.read<RequestAnswer>(`requests/${requestId}?records=all&limit=3`);
    assert.deepEqual(
      all.records.map(({ index }) => index),
      [0, 1, 2],
    );
    const rest = await session.read<RequestAnswer>(
      `requests/${requestId}?records=all&limit=3&cursor=${all.nextCursor}`,
    );
    assert.deepEqual(
      rest.records.map(({ index, outcome, key }) => [index, outcome, key]),
      [[3, "applied", "r3"]],
    );
    const quarantined = await session.read<RequestAnswer>(`requests/${requestId}?outcome=quarantined`);
    assert.deepEqual(
      quarantined.records.map(({ index }) => index),
      [2],
    );
    const one = await session.read<RecordAnswer>(`requests/${requestId}/records/1`);
    assert.equal(one.record.outcome, "rejected");
    assert.equal(one.payload.text, JSON.stringify(body[1]));
    assert.equal(one.payload.truncated, false);
    const { fields } = await session.read<RecordAnswer>(`requests/${requestId}/records/0`);
    const fieldAt = (path: string) => fields.find((field) => field.path === path);
    assert.deepEqual(fieldAt("reservationId"), {
      path: "reservationId",
      value: "r1",
      description: "Id of the reservation",
    });
    assert.deepEqual(fieldAt("roomStays[0].roomTypeCode")?.description, "Room type code");
    for (const path of [
      `requests/${requestId}/records/4`,
      `requests/${requestId}/records/x`,
      "requests/none",
    ])
      assert.equal((await session.get(path)).status, 404, path);
  });

  test("a record of a large batch is shown verbatim, also from quarantine", async () => {
    const stay = { arrivalDate: "2026-07-14", departureDate: "2026-07-17", roomTypeCode: "DLX" };
    // Together with its neighbours in the log, each is more than Node keeps in a shared pool.
    const more = { roomStays: Array.from({ length: 10 }, () => stay) };
    const body = Array.from({ length: 400 }, (_, place) =>
      reservation(`big-${place}`, place === 250 ? FUTURE : "2026-01-01T00:00:00Z", more),
    );
    const requestId = await apply(service, "reservations", body);
    for (const index of [0, 250, 399]) {
      const { payload } = await session.read<RecordAnswer>(`requests/${requestId}/records/${index}`);
      assert.equal(payload.text, JSON.stringify(body[index]));
    }
    const { payload, release } = await session.read<QuarantineAnswer>(`quarantine/${requestId}/250`);
    assert.equal(payload.text, JSON.stringify(body[250]));
    assert.equal(release?.changeTotal, 0);
  });
});

test("the intake counts batches and records by minute, and shows the backlog and the newest batches", async () => {
  const before = await session.read<IntakeAnswer>("intake");
  const batches = (intake: IntakeAnswer) =>
    intake.minutes.reduce((sum, { resources }) => sum + (resources?.groups.batches ?? 0), 0);
  const records = (intake: IntakeAnswer) =>
    intake.minutes.reduce((sum, { resources }) => sum + (resources?.groups.records ?? 0), 0);
  const group = (property: string) => ({
    clientCode: "ACME",
    propertyCode: property,
    lastModifiedDateTime: "2026-01-01T00:00:00Z",
    groupCode: "g",
    groupStatusCode: "DEFINITE",
    startDate: "2026-09-10",
    endDate: "2026-09-12",
    groupBlocks: [{ occupancyDate: "2026-09-10", roomTypeCode: "DLX", blocks: 20 }],
  });
  const properties = ["P1", "P2", "P3", "P4", "P5"];
  const requestId = await apply(service, "groups", properties.map(group));
  const intake = await session.read<IntakeAnswer>("intake");
  assert.equal(intake.minutes.length, 60);
  assert.equal(batches(intake) - batches(before), 1);
  assert.equal(records(intake) - records(before), properties.length);
  assert.equal(intake.lastBatches[0]?.requestId, requestId);
  assert.equal(intake.lag.oldestReceivedAt, null);
  assert.equal(intake.lag.seconds, 0);
  assert.ok(intake.quarantined >= 1);
  assert.equal(intake.outcomes.records - before.outcomes.records, properties.length);
  await until(async () => {
    const later = await session.read<IntakeAnswer>("intake");
    return later.minutes.every(({ resources }) => resources !== null);
  }, 10_000);
});

test("the intake of a day has what an hour has, by quarter of an hour, with its outcomes", async () => {
  const viewer = await logInAsNew(service, "of-acme", { role: "viewer", grants: ["ACME/*"] });
  const ownBefore = await viewer.read<IntakeAnswer>("intake?range=day");
  const before = await session.read<IntakeAnswer>("intake?range=day");
  const bad = { ...reservation("intake-bad", "2026-01-01T00:00:00Z"), numberOfRooms: "two" };
  const good = reservation("intake-good", "2026-01-01T00:00:00Z");
  const headers = { prefer: "handling=lenient" };
  const answer = await service.post("reservations", [good, bad], { headers });
  assert.equal(answer.status, 202, answer.text);
  await until(async () => {
    const { status } = await session.read<RequestAnswer>(`requests/${answer.json()["requestId"]}`);
    return status === "applied";
  }, 10_000);
  const [day, hour] = await Promise.all([
    session.read<IntakeAnswer>("intake?range=day"),
    session.read<IntakeAnswer>("intake"),
  ]);
  assert.equal(day.minutes.length, 96);
  assert.ok(day.minutes.every(({ minute }) => Date.parse(minute) % 900_000 === 0));
  assert.equal(day.outcomes.records - before.outcomes.records, 2);
  assert.equal(day.outcomes.rejected - before.outcomes.rejected, 1);
  assert.deepEqual(hour.outcomes, day.outcomes);
  const records = ({ minutes }: IntakeAnswer) =>
    minutes.reduce((sum, { resources }) => sum + (resources?.reservations.records ?? 0), 0);
  assert.equal(records(day), records(hour));
  const own = await viewer.read<IntakeAnswer>("intake?range=day");
  assert.equal(own.minutes.length, 96);
  assert.equal(own.outcomes.records - ownBefore.outcomes.records, 2);
  assert.equal(own.outcomes.rejected - ownBefore.outcomes.rejected, 1);
  assert.equal((await session.get("intake?range=year")).status, 400);
});

test("requests of a client code have a record of it, with or without a property", async () => {
  const other = {
    ...reservation("other-code", "2026-01-01T00:00:00Z"),
    clientCode: "CODE",
    propertyCode: "CODE01",
  };
  const as = await service.newClient({ grants: [{ clientCode: "CODE", propertyCode: "*" }] });
  const sent = await service.post("reservations", [other], { as });
  assert.equal(sent.status, 202, sent.text);
  await until(async () => {
    const { status } = await session.read<RequestAnswer>(`requests/${sent.json()["requestId"]}`);
    return status === "applied";
  }, 10_000);
  const listed = async (query: string, by = session) => ids(await by.read(`requests?${query}`));
  assert.deepEqual(await listed("clientCode=CODE"), [sent.json()["requestId"]]);
  assert.ok((await listed("clientCode=ACME")).every((id) => id !== sent.json()["requestId"]));
  assert.deepEqual(await listed("clientCode=NOBODY"), []);
  const viewer = await logInAsNew(service, "of-other", { role: "viewer", grants: ["ACME/*"] });
  assert.deepEqual(await listed("clientCode=CODE", viewer), []);
});

test("accepted but unapplied batches are the lag", async () => {
  const idle = await startTestService({ roles: ["accept", "read"] });
  try {
    const operator = await logInAsNew(idle, "anna");
    const answer = await idle.post("inventories", [inventory("2026-07-01", "2026-01-01T00:00:00Z")]);
    assert.equal(answer.status, 202, answer.text);
    const { lag, lastBatches } = await operator.read<IntakeAnswer>("intake");
    assert.equal(lag.waiting, 1);
    assert.equal(lag.oldestReceivedAt, lastBatches[0]?.receivedAt);
    assert.ok(lag.seconds >= 0);
    assert.equal(lastBatches[0]?.status, "accepted");
    const all = await operator.read<RequestAnswer>(`requests/${lastBatches[0]?.requestId}?records=all`);
    assert.equal(all.records[0]?.outcome, "pending");
  } finally {
    await idle.stop();
  }
});

test("a reservation's history reports what each version changed, also the first of a page", async () => {
  const id = "history-1";
  const send = (modified: string, more: object) =>
    apply(service, "reservations", [reservation(id, modified, { ...more })]);
  await send("2026-01-01T00:00:00Z", { status: "CONFIRMED" });
  await send("2026-01-03T00:00:00Z", { status: "CANCELLED", channel: "WEB" });
  await send("2026-01-02T00:00:00Z", { status: "CONFIRMED", channel: "WEB" });
  const path = `history?resource=reservations&${LISBON}&key=${id}`;
  const whole = await session.read<Page<VersionItem>>(path);
  assert.deepEqual(
    whole.items.map(({ status, outcome, late, changes }) => ({
      status,
      outcome,
      late,
      changes: changes.filter(({ pointer }) => pointer !== "/lastModifiedDateTime"),
    })),
    [
      { status: "CONFIRMED", outcome: "applied", late: false, changes: [] },
      {
        status: "CONFIRMED",
        outcome: "stale",
        late: true,
        changes: [{ pointer: "/channel", path: ["channel"], before: null, after: '"WEB"' }],
      },
      {
        status: "CANCELLED",
        outcome: "applied",
        late: false,
        changes: [{ pointer: "/status", path: ["status"], before: '"CONFIRMED"', after: '"CANCELLED"' }],
      },
    ],
  );
  const first = await session.read<Page<VersionItem>>(`${path}&limit=2`);
  const second = await session.read<Page<VersionItem>>(`${path}&limit=2&cursor=${first.nextCursor}`);
  assert.deepEqual([...first.items, ...second.items], whole.items);
  assert.equal(JSON.parse(whole.items[1]?.payload?.text ?? "").channel, "WEB");
  const none = await session.read<Page<VersionItem>>(`history?resource=groups&${LISBON}&key=${id}`);
  assert.deepEqual(none.items, []);
});

test("properties are listed by name or else code, and found by a part of either; a calendar shows the nights that are missing", async () => {
  await apply(service, "inventories", [
    inventory("2026-08-01", "2026-01-01T00:00:00Z"),
    inventory("2026-08-03", "2026-01-01T00:00:00.5Z"),
  ]);
  const all = await session.read<PortfolioAnswer>("portfolio");
  const codes = all.items.map(({ clientCode, propertyCode }) => `${propertyCode} of ${clientCode}`);
  assert.deepEqual(codes, [...codes].sort());
  assert.ok(codes.includes("LIS01 of ACME") && codes.includes("MAD01 of OTHER"));
  const found = await session.read<PortfolioAnswer>("portfolio?search=lis");
  assert.deepEqual(
    found.items.map(({ propertyCode }) => propertyCode),
    ["LIS01"],
  );
  assert.ok((found.items[0]?.quarantined ?? 0) >= 1);
  const first = await session.read<PortfolioAnswer>("portfolio?limit=1");
  const next = await session.read<PortfolioAnswer>(`portfolio?limit=1&cursor=${first.nextCursor}`);
  assert.deepEqual([...first.items, ...next.items], all.items.slice(0, 2));
  const { items } = await session.read<ClientCodesAnswer>("client-codes");
  assert.deepEqual(items.at(-1), { clientCode: "OTHER", properties: 1 });

  const calendar = await session.read<CalendarAnswer>(`calendar?${LISBON}&from=2026-07-31&to=2026-08-04`);
  assert.deepEqual(
    calendar.nights.map(({ date, inventory: night }) => [date, night]),
    [
      ["2026-07-31", "outside"],
      ["2026-08-01", "reported"],
      ["2026-08-02", "missing"],
      ["2026-08-03", "reported"],
      ["2026-08-04", "outside"],
    ],
  );
  assert.equal(calendar.nights[3]?.sourceTime, "2026-01-01T00:00:00.500000Z");
  assert.deepEqual([calendar.firstNight, calendar.lastNight], ["2026-08-01", "2026-08-03"]);
  const unknown = await session.read<CalendarAnswer>(
    "calendar?clientCode=NO&propertyCode=NO&from=2026-07-31&to=2026-07-31",
  );
  assert.deepEqual(unknown.nights.length, 1);
  for (const range of ["from=2026-08-02&to=2026-08-01", "from=2020-01-01&to=2026-01-01", "from=2026-08-01"])
    assert.equal((await session.get(`calendar?${LISBON}&${range}`)).status, 400, range);
});

test("the portfolio shows the last batch of each feed, and which feeds are silent by the property's cadence", async () => {
  const lisbon = async () => {
    const { items } = await session.read<PortfolioAnswer>("portfolio?search=lis");
    return items[0]?.feeds ?? [];
  };
  const stateOf = async (resource: string) =>
    (await lisbon()).find((feed) => feed.resource === resource)?.state;
  const requestId = await apply(service, "inventories", [inventory("2026-08-01", "2026-01-02T00:00:00Z")]);
  const { receivedAt } = await session.read<RequestAnswer>(`requests/${requestId}`);
  assert.deepEqual(
    (await lisbon()).map(({ resource, state, cadenceHours }) => [resource, state, cadenceHours]),
    [
      ["inventories", "ok", 24],
      ["reservations", "ok", 24],
      ["groups", "never", null],
    ],
  );
  assert.equal((await lisbon())[0]?.lastReceivedAt, receivedAt);
  const cadence = { clientCode: "ACME", propertyCode: "LIS01", name: "cadence.inventories" };
  await session.change("settings/set", { ...cadence, value: "0.001" });
  await until(async () => (await stateOf("inventories")) === "silent", 20_000);
  assert.equal(await stateOf("reservations"), "ok");
});

describe("quarantine", () => {
  const quarantinedOf = async (id: string): Promise<QuarantineItem> => {
    const { items } = await session.read<Page<QuarantineItem>>(`quarantine?${LISBON}`);
    const found = items.find(({ key }) => key === id);
    assert.ok(found, `${id} is quarantined`);
    return found;
  };

  test("shows quarantined records, reasons and payloads, page by page", async () => {
    const requestId = await apply(service, "reservations", [
      reservation("h1", FUTURE),
      reservation("h2", FUTURE),
    ]);
    const quarantined = await quarantinedOf("h2");
    assert.equal(quarantined.requestId, requestId);
    assert.equal(quarantined.index, 1);
    assert.equal(quarantined.code, "time.future");
    const one = await session.read<QuarantineAnswer>(`quarantine/${requestId}/1`);
    assert.equal(one.clientId, service.client.clientId);
    assert.equal(one.payload.text, JSON.stringify(reservation("h2", FUTURE)));
    const first = await session.read<Page<QuarantineItem>>(`quarantine?limit=1`);
    const second = await session.read<Page<QuarantineItem>>(`quarantine?limit=1&cursor=${first.nextCursor}`);
    const all = await session.read<Page<QuarantineItem>>("quarantine");
    assert.deepEqual([...first.items, ...second.items], all.items.slice(0, 2));
    assert.equal((await session.get(`quarantine/${requestId}/7`)).status, 404);
    assert.deepEqual((await session.read<Page<QuarantineItem>>("quarantine?clientCode=OTHER")).items, []);
  });

  test("releases and discards once, with author and reason in the audit", async () => {
    const requestId = await apply(service, "reservations", [
      reservation("h3", FUTURE),
      reservation("h4", FUTURE),
    ]);
    const records = [`${requestId}/0`];
    const discard = (form: object) => session.post("quarantine/discard", { records, ...form });
    assert.equal((await discard({})).status, 422);
    assert.equal((await discard({ reason: "  " })).status, 422);
    assert.equal((await discard({ reason: "sent by mistake" })).status, 200);
    await session.change("quarantine/release", { records: [`${requestId}/1`] });
    const stateOf = async (index: number) =>
      (await session.read<QuarantineAnswer>(`quarantine/${requestId}/${index}`)).state;
    await until(async () => (await stateOf(0)) === "discarded" && (await stateOf(1)) === "released", 20_000);
    const again = await discard({ reason: "once more" });
    assert.equal(again.status, 409);
    assert.match(String(again.json()["message"]), /was already discarded/);
    const found = (await session.read<RequestAnswer>(`requests/${requestId}?outcome=discarded`)).records;
    assert.deepEqual(
      found.map(({ index, outcome }) => [index, outcome]),
      [[0, "discarded"]],
    );
    const audit = await session.read<Page<AuditItem>>("audit?who=console:anna");
    const [release, discarded] = audit.items;
    assert.deepEqual(
      [release?.what, discarded?.what],
      ["release-quarantined-record", "discard-quarantined-record"],
    );
    assert.equal(discarded?.detail["reason"], "sent by mistake");
    assert.equal(discarded?.who, "console:anna");
  });

  test("takes one decision, even before it is applied, and the audit has only that one", async () => {
    const held = [reservation("h13", FUTURE), reservation("h14", FUTURE)];
    const requestId = await apply(service, "reservations", held);
    const decide = (kind: string, index: number) =>
      session.post(`quarantine/${kind}`, { records: [`${requestId}/${index}`], reason: "one of two" });
    const holder = await service.pool.connect();
    try {
      // Nothing is applied meanwhile.
      await holder.query("begin; lock table bellhop.request_outcome in share mode");
      assert.equal((await decide("release", 0)).status, 200);
      const second = await decide("discard", 0);
      assert.equal(second.status, 409, second.text);
      assert.match(String(second.json()["message"]), /Another decision about this record was made/);
      const raced = await Promise.all(["discard", "release", "discard"].map((kind) => decide(kind, 1)));
      assert.deepEqual(raced.map(({ status }) => status).sort(), [200, 409, 409]);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    const { items } = await session.read<Page<AuditItem>>("audit?limit=10");
    for (const index of [0, 1]) {
      const entries = items.filter(
        ({ detail }) => detail["requestId"] === requestId && detail["index"] === index,
      );
      assert.equal(entries.length, 1);
      const stateOf = async () =>
        (await session.read<QuarantineAnswer>(`quarantine/${requestId}/${index}`)).state;
      await until(async () => (await stateOf()) !== "quarantined", 20_000);
      assert.match(String(entries[0]?.what), (await stateOf()) === "released" ? /^release-/ : /^discard-/);
    }
  });

  test("takes another decision once a release has failed", async () => {
    const requestId = await apply(service, "reservations", [reservation("h15", FUTURE)]);
    const records = [`${requestId}/0`];
    await service.pool.query(
      `create function bellhop_state.refuse_h15() returns trigger language plpgsql as $$
        begin if new.key = 'h15' then raise exception 'planted' using errcode = '22000'; end if; return new; end $$;
      create trigger refuse_h15 before insert on bellhop_state.reservation_version
        for each row execute function bellhop_state.refuse_h15()`,
    );
    try {
      const headers = { prefer: "wait=20" };
      const answer = await session.post("quarantine/release", { records }, headers);
      assert.equal(answer.status, 200, answer.text);
      assert.ok(answer.headers.get("preference-applied"));
      assert.equal((await quarantinedOf("h15")).state, "quarantined");
    } finally {
      await service.pool.query(
        "drop trigger refuse_h15 on bellhop_state.reservation_version; drop function bellhop_state.refuse_h15",
      );
    }
    await session.change("quarantine/discard", { records, reason: "it cannot be applied" });
    await until(
      async () => (await session.read<QuarantineAnswer>(`quarantine/${requestId}/0`)).state === "discarded",
      20_000,
    );
  });

  test("shows how a release would change the current version", async () => {
    const past = "2026-01-03T00:00:00Z";
    const requestId = await apply(service, "reservations", [
      reservation("h8", FUTURE, { status: "CANCELLED" }),
      reservation("h9", FUTURE),
      reservation("h8", past),
    ]);
    const releaseOf = async (index: number) =>
      (await session.read<QuarantineAnswer>(`quarantine/${requestId}/${index}`)).release;
    const micro = (time: string) => time.replace("Z", ".000000Z");
    assert.deepEqual(await releaseOf(0), {
      sourceTime: micro(FUTURE),
      currentSourceTime: micro(past),
      changes: [
        {
          pointer: "/lastModifiedDateTime",
          path: ["lastModifiedDateTime"],
          before: JSON.stringify(past),
          after: JSON.stringify(FUTURE),
        },
        { pointer: "/status", path: ["status"], before: '"CONFIRMED"', after: '"CANCELLED"' },
      ],
      changeTotal: 2,
    });
    const first = await releaseOf(1);
    assert.deepEqual([first?.currentSourceTime, first?.changes], [null, []]);
    await session.change("quarantine/release", { records: [`${requestId}/0`] });
    await until(async () => (await releaseOf(0)) === null, 20_000);
  });

  test("is grouped by reason, and filtered by reason, property and resource", async () => {
    const grouped = async (query = "") => {
      const { groups } = await session.read<QuarantinePageAnswer>(`quarantine?limit=1&${query}`);
      return groups;
    };
    const before = await grouped("resource=groups");
    assert.deepEqual(before, []);
    const night = { ...inventory("2026-08-01", FUTURE), clientCode: "OTHER", propertyCode: "MAD01" };
    const batch = [night, { ...night, propertyCode: "SEV01" }, { ...night, occupancyDate: "2026-08-02" }];
    const requestId = await apply(service, "inventories", batch, { as: other });
    // As if the hotel had chosen so, which nodes hear of some time later.
    await service.pool.query("update bellhop.quarantine set code = 'count.negative' where request_id = $1", [
      requestId,
    ]);
    const [item] = (await session.read<Page<QuarantineItem>>("quarantine?code=count.negative")).items;
    assert.equal(item?.requestId, requestId);
    assert.deepEqual(await grouped("resource=inventories"), [
      {
        code: "count.negative",
        records: 3,
        oldestReceivedAt: item?.receivedAt,
        propertyTotal: 2,
        properties: [
          { clientCode: "OTHER", propertyCode: "MAD01", records: 2 },
          { clientCode: "OTHER", propertyCode: "SEV01", records: 1 },
        ],
      },
    ]);
    const codesOf = async (query: string) => (await grouped(query)).map(({ code }) => code);
    assert.deepEqual(await codesOf("propertyCode=SEV01"), ["count.negative"]);
    assert.deepEqual(await codesOf("code=time.future&clientCode=OTHER"), ["count.negative"]);
    assert.equal((await codesOf("")).length, 2);
    const inScope = await logInAsNew(service, "seville", { role: "operator", grants: ["OTHER/SEV01"] });
    const { items, groups } = await inScope.read<QuarantinePageAnswer>("quarantine");
    assert.deepEqual([items.length, groups.map(({ records }) => records)], [1, [1]]);
  });

  test("decides on several at once: one that cannot be decided on does not hold up the others", async () => {
    const requestId = await apply(
      service,
      "reservations",
      ["h5", "h6", "h7"].map((id) => reservation(id, FUTURE)),
    );
    const of = (...indexes: number[]) => indexes.map((index) => `${requestId}/${index}`);
    const release = (records: unknown) => session.post("quarantine/release", { records });
    for (const wrong of [undefined, [], Array.from({ length: 101 }, (_, index) => `${requestId}/${index}`)])
      assert.equal((await release(wrong)).status, 422);
    assert.equal((await release(of(7))).status, 404);
    assert.equal((await release(["nonsense"])).status, 404);
    const { records } = (await release(of(0, 9, 2, 0))).json() as unknown as ResolveAnswer;
    assert.deepEqual(
      records.map(({ record, failure }) => [record, failure]),
      [
        [`${requestId}/0`, null],
        [`${requestId}/9`, "No such record was ever quarantined."],
        [`${requestId}/2`, null],
      ],
    );
    await until(async () => {
      const { counts } = await session.read<RequestAnswer>(`requests/${requestId}`);
      return counts.applied === 2 && counts.quarantined === 1;
    }, 20_000);
    const audit = await session.read<Page<AuditItem>>("audit?who=console:anna&limit=2");
    assert.deepEqual(
      audit.items.map(({ what, detail }) => [what, detail["requestId"], detail["index"]]),
      [
        ["release-quarantined-record", requestId, 2],
        ["release-quarantined-record", requestId, 0],
      ],
    );
  });

  test("reports the decisions made before a fault, and stops there", async () => {
    const requestId = await apply(
      service,
      "reservations",
      ["h10", "h11", "h12"].map((id) => reservation(id, FUTURE)),
    );
    const of = [0, 1, 2].map((index) => `${requestId}/${index}`);
    const release = (records: readonly string[]) => session.post("quarantine/release", { records });
    await service.pool.query(
      `create function fail_audit() returns trigger language plpgsql as $$ begin raise 'no audit for record 1'; end $$;
      create trigger fail_audit before insert on bellhop.audit_entry for each row
      when (new.detail ->> 'index' = '1') execute function fail_audit()`,
    );
    try {
      const { records } = (await release(of)).json() as unknown as ResolveAnswer;
      assert.deepEqual(
        records.map(({ record, failure }) => [record, failure?.split(";")[0]]),
        [
          [of[0], undefined],
          [of[1], "An internal error occurred"],
          [of[2], "An internal error occurred"],
        ],
      );
      assert.ok(service.logLines().some((line) => line.includes("no audit for record 1")));
      const audit = await session.read<Page<AuditItem>>("audit?who=console:anna&limit=1");
      assert.equal(audit.items[0]?.detail["index"], 0);
      assert.equal((await quarantinedOf("h12")).state, "quarantined");
    } finally {
      await service.pool.query("drop trigger fail_audit on bellhop.audit_entry; drop function fail_audit");
    }
  });
});

describe("the search", () => {
  const find = (text: string, of = "") =>
    session.read<SearchAnswer>(`search?${new URLSearchParams({ text, ...(of === "" ? {} : { of }) })}`);
  const codes = ({ properties }: SearchAnswer) => properties.map(({ propertyCode }) => propertyCode);

  test("finds a property by each of its words, without case and accents, the best first", async () => {
    const rows = ["S-ONE", "S-TWO", "S-TWO-B"].map((propertyCode, at) => ({
      ...reservation(`found-${at}`, "2026-01-01T00:00:00Z"),
      propertyCode,
    }));
    await apply(service, "reservations", rows);
    const set = (propertyCode: string, name: string, value: string) =>
      session.change("settings/set", { clientCode: "ACME", propertyCode, name, value });
    await set("S-ONE", "name", "Hôtel s-two view");
    await set("S-ONE", "city", "Málaga");
    await set("S-TWO", "name", "Zum Ross");
    assert.deepEqual(codes(await find("malaga HOTEL")), ["S-ONE"]);
    assert.deepEqual(codes(await find("s-two")), ["S-TWO", "S-TWO-B", "S-ONE"]);
    assert.deepEqual(codes(await find("s-two malaga berlin")), []);
    assert.deepEqual((await find("malaga", "properties")).properties, [
      { clientCode: "ACME", propertyCode: "S-ONE", name: "Hôtel s-two view", city: "Málaga" },
    ]);
  });

  test("finds reservations by their whole id, requests by its beginning and clients by a part of their name", async () => {
    const requestId = await apply(service, "reservations", [
      reservation("FIND-9", "2026-01-01T00:00:00Z"),
      reservation("FIND-90", "2026-01-01T00:00:00Z"),
    ]);
    assert.deepEqual((await find("find-9")).records, [
      { clientCode: "ACME", propertyCode: "LIS01", resource: "reservations", key: "FIND-9" },
    ]);
    const [newest] = (await find(requestId.slice(0, 30))).requests;
    assert.equal(newest?.requestId, requestId);
    assert.deepEqual((await find("d partn")).clients, [{ clientId: other.clientId, name: "Second partner" }]);
  });
});
