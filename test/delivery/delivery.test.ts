import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { read, utils } from "@e965/xlsx";
import type { ReportSource } from "../../src/delivery/compose.ts";
import { MessageSender, tidySubscriptions } from "../../src/delivery/deliver-messages.ts";
import { createMailTransport, MailNotSent } from "../../src/delivery/mail-transport.ts";
import { planMessages } from "../../src/delivery/plan-messages.ts";
import { reportMessage } from "../../src/delivery/report-message.ts";
import {
  addSubscription,
  findSubscription,
  pauseSubscription,
  queueTest,
  resumeSubscription,
  type SubscriptionInput,
  withDueTimes,
} from "../../src/delivery/subscription.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { QuestionTooLarge } from "../../src/insight/question.ts";
import { createPool } from "../../src/platform/db/connection.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { assertTurns } from "../support/assert-turns.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type MailServer, type ReceivedMail, startMailServer } from "../support/mail-server.ts";
import { apply, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";

const FROM = { name: "Bellhop", address: "bellhop@hotels.example" };
const BASE_URL = "https://hotels.example";
const WAIT_MS = 30_000;

let mail: MailServer;
let service: TestService;
before(async () => {
  mail = await startMailServer();
  service = await startTestService({ mail: { url: mail.url, from: FROM }, baseUrl: BASE_URL });
});
after(async () => {
  await service.stop();
  await mail.close();
});

async function addOperator({ pool }: Pick<TestDatabase, "pool">, name: string, grants: readonly string[]) {
  await pool.query(
    "insert into bellhop.operator (name, role, grants, email) values ($1, 'revenue', $2, $3)",
    [name, grants, `${name}@hotels.example`],
  );
}

/** Subscribes an operator as of a day ago, so that today's report is due. */
async function subscribe({ pool }: Pick<TestDatabase, "pool">, operator: string, input: SubscriptionInput) {
  const subscriptionId = await addSubscription({ pool, who: "cli:test" }, operator, input);
  await pool.query(
    "update bellhop.subscription set active_from = active_from - interval '2 days' where subscription_id = $1",
    [subscriptionId],
  );
  return subscriptionId;
}

const receivedBy = (name: string) => mail.received.filter(({ to }) => to[0] === `${name}@hotels.example`);

/** Waits until an operator has so many messages, and answers them. */
async function untilReceived(name: string, count: number): Promise<readonly ReceivedMail[]> {
  await until(() => receivedBy(name).length >= count, WAIT_MS);
  return receivedBy(name);
}

async function statesOf({ pool }: Pick<TestDatabase, "pool">, subscriptionId: string) {
  const { rows } = await pool.query<{ state: string; result: string; occasion: string }>(
    "select state, result, occasion from bellhop.subscription_message where subscription_id = $1 order by created_at",
    [subscriptionId],
  );
  return rows;
}

const LISBON = { clientCode: "ACME", propertyCode: "LIS01" };
const today = new Date().toISOString().slice(0, 10);
const day = (days: number) => new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10);

test("a report is received once: HTML, text, an Excel file with the API's figures, and no guest's name", async () => {
  await setSetting(service.pool, { ...LISBON, name: "name" }, "Hôtel <Über> & Söhne");
  const rate = { startDate: day(1), endDate: day(2), rateValue: "120.55", grossRateValue: "120.55" };
  await apply(service, "reservations", [
    reservation("R1", `${day(-2)}T10:00:00Z`, {
      confirmationNumber: "Zzyzx",
      roomStays: [
        {
          arrivalDate: day(1),
          departureDate: day(3),
          roomTypeCode: "DLX",
          currencyCode: "EUR",
          rates: [rate],
        },
      ],
    }),
  ]);
  await apply(service, "inventories", [inventory(day(1), `${day(-1)}T10:00:00Z`)]);
  await addOperator(service, "anna", ["ACME/*"]);
  const input = { kind: "report", ...LISBON, localTime: "00:00", nights: 10 };
  const subscriptionId = await subscribe(service, "anna", input);
  assert.equal(await planMessages(service.pool), 1);
  assert.equal(await planMessages(service.pool), 0);
  const [message] = await untilReceived("anna", 1);
  assert.ok(message !== undefined);
  assert.equal(message.from, FROM.address);
  assert.match(message.headers.get("from") ?? "", /^Bellhop <bellhop@hotels\.example>$/);
  assert.match(message.headers.get("message-id") ?? "", /^<[0-9a-f-]{36}@hotels\.example>$/);
  const html = message.text("text/html");
  assert.match(html, /Hôtel &lt;Über&gt; &amp; Söhne/);
  assert.doesNotMatch(html, /<(script|img|link)|url\(|Zzyzx/);
  assert.match(message.text("text/plain"), /Hôtel <Über> & Söhne\r\nDaily pickup report/);
  const [file] = message.parts.filter(({ fileName }) => fileName !== undefined);
  assert.equal(file?.fileName, `Hôtel-Über-Söhne-${today}-daily-report.xlsx`);
  const rows = utils.sheet_to_json<Record<string, unknown>>(read(file?.content).Sheets["Data"] ?? {});
  const query = new URLSearchParams({ ...LISBON, from: today, to: day(9) });
  const answer = (await service.get(`/api/insight/v1/daily-report?${query}`)).json() as unknown as {
    items: Record<string, unknown>[];
    totals: Record<string, unknown>[];
  };
  const asked = [...answer.totals, ...answer.items];
  assert.deepEqual(
    rows.map((row) => [row["Rooms"], row["Room revenue"] ?? null]),
    asked.map(({ rooms, roomRevenue }) => [rooms, roomRevenue === null ? null : Number(roomRevenue)]),
  );
  assert.deepEqual([rows[0]?.["Rooms"], rows[0]?.["Room revenue"]], [2, 241.1]);
  assert.match(html, /EUR 241</);
  await until(async () => (await statesOf(service, subscriptionId))[0]?.state === "sent", WAIT_MS);
});

test("a report of more rows than a file has says so, and its headlines are of the main currencies", async () => {
  const many = { clientCode: "ACME", propertyCode: "MANY01" };
  const currencies = ["AUD", "CHF", "EUR", "GBP", "SEK", "USD"];
  const stays = currencies.map((currencyCode, at) =>
    reservation(`C${at}`, `${day(-2)}T10:00:00Z`, {
      ...many,
      numberOfRooms: at + 1,
      roomStays: [{ arrivalDate: today, departureDate: day(365), roomTypeCode: "DLX", currencyCode }],
    }),
  );
  await apply(service, "reservations", stays);
  let report: Awaited<ReturnType<typeof reportMessage>> | undefined;
  await assertTurns(async () => {
    report = await reportMessage(service.pool, { ...many, nights: 365 }, BASE_URL, new Date());
  });
  assert.ok(report !== undefined);
  assert.match(report.lead.join(), /first 2,000 rows, the totals are of all/);
  const { Sheets } = read(report.attachments?.[0]?.content);
  assert.match(utils.sheet_to_csv(Sheets["About"] ?? {}), /first 2,000 rows/);
  assert.deepEqual(
    report.headlines?.filter(({ name }) => name.startsWith("Rooms")).map(({ name }) => name.slice(-4, -1)),
    ["USD", "SEK", "GBP"],
  );
  const short = await reportMessage(service.pool, { ...many, nights: 300 }, BASE_URL, new Date());
  assert.equal(short.lead.length, 1);
});

test("unsubscribing needs the signed link alone: a GET asks, a POST ends it, also RFC 8058's", async () => {
  await addOperator(service, "berta", ["ACME/LIS01"]);
  const input = { kind: "report", ...LISBON, localTime: "00:00" };
  const subscriptionId = await subscribe(service, "berta", input);
  await planMessages(service.pool);
  const [message] = await untilReceived("berta", 1);
  assert.equal(message?.headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click");
  const [, link = ""] = /^<(https:[^>]+)>$/.exec(message?.headers.get("list-unsubscribe") ?? "") ?? [];
  assert.ok(message?.text("text/html").includes(link) && message.text("text/plain").includes(link));
  const { pathname } = new URL(link);
  const asked = await service.get(pathname, { as: null });
  assert.equal(asked.status, 200);
  assert.match(asked.text, /<form method="post">/);
  const isPaused = async () => (await findSubscription(service.pool, subscriptionId)).pausedAt !== null;
  assert.equal(await isPaused(), false);
  const forged = `${pathname.slice(0, -1)}${pathname.endsWith("A") ? "B" : "A"}`;
  for (const path of [`${pathname}A`, forged.slice(0, -3), "/unsubscribe/x.y", "/unsubscribe/x"])
    assert.equal((await service.send("POST", path, { as: null })).status, 404, path);
  assert.equal(await isPaused(), false);
  const body = "List-Unsubscribe=One-Click";
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  assert.equal((await service.send("POST", pathname, { as: null, body, headers })).status, 200);
  assert.equal(await isPaused(), true);
  const { pausedBy } = await findSubscription(service.pool, subscriptionId);
  assert.equal(pausedBy, "unsubscribe link");
  assert.match((await service.get(pathname, { as: null })).text, /Unsubscribed/);
});

test("a report follows the property's time zone, once a local date, also when the zone or the time changes", async () => {
  await addOperator(service, "carl", ["ACME/*"]);
  const zoned = { clientCode: "ACME", propertyCode: "ZRH01" };
  await setSetting(service.pool, { ...zoned, name: "timeZone" }, "Europe/Zurich");
  const subscriptionId = await addSubscription({ pool: service.pool, who: "cli:test" }, "carl", {
    kind: "report",
    ...zoned,
    localTime: "02:30",
  });
  await service.pool.query(
    "update bellhop.subscription set active_from = '2026-03-01' where subscription_id = $1",
    [subscriptionId],
  );
  const occasions = async () =>
    (await statesOf(service, subscriptionId)).map(({ occasion }) => occasion.slice("report:".length));
  const plan = (instant: string) => planMessages(service.pool, new Date(instant));
  await plan("2026-03-28T01:29:59Z");
  assert.deepEqual(await occasions(), ["2026-03-27"]);
  await plan("2026-03-28T01:30:00Z");
  assert.deepEqual(await occasions(), ["2026-03-27", "2026-03-28"]);
  // 02:30 does not exist on this date.
  await plan("2026-03-29T01:29:59Z");
  assert.deepEqual(await occasions(), ["2026-03-27", "2026-03-28"]);
  await plan("2026-03-29T01:30:00Z");
  assert.deepEqual(await occasions(), ["2026-03-27", "2026-03-28", "2026-03-29"]);
  await plan("2026-03-29T02:30:00Z");
  await setSetting(service.pool, { ...zoned, name: "timeZone" }, "America/New_York");
  await plan("2026-03-29T06:30:00Z");
  assert.deepEqual(await occasions(), ["2026-03-27", "2026-03-28", "2026-03-29"]);
  await plan("2026-03-30T06:30:00Z");
  // It exists twice.
  await setSetting(service.pool, { ...zoned, name: "timeZone" }, "Europe/Zurich");
  await plan("2026-10-25T00:30:00Z");
  await plan("2026-10-25T01:30:00Z");
  await plan("2026-10-25T02:30:00Z");
  assert.deepEqual((await occasions()).slice(3), ["2026-03-30", "2026-10-24", "2026-10-25"]);
});

test("an operator gets what the grants include when it is sent; a disabled one gets nothing", async () => {
  await addOperator(service, "dora", ["ACME/*"]);
  const report = { kind: "report", ...LISBON, localTime: "00:00" };
  const subscriptionId = await subscribe(service, "dora", report);
  await service.pool.query("update bellhop.operator set grants = '{ACME/PAR01}' where name = 'dora'");
  await planMessages(service.pool);
  const ended = await untilFound(async () =>
    (await statesOf(service, subscriptionId)).find(({ state }) => state !== "waiting"),
  );
  assert.deepEqual([ended.state, ended.result], ["dropped", "The operator may no longer see the property."]);
  await assert.rejects(
    addSubscription({ pool: service.pool, who: "cli:test" }, "dora", report),
    /No property has these codes/,
  );
  await service.pool.query(
    "update bellhop.operator set grants = '{ACME/*}', disabled_at = now() where name = 'dora'",
  );
  await queueTest(service.pool, { subscriptionId, operator: "dora", kind: "report" });
  await until(
    async () => (await statesOf(service, subscriptionId)).every(({ state }) => state === "dropped"),
    WAIT_MS,
  );
  assert.equal(receivedBy("dora").length, 0);
});

test("an alert is sent when its condition begins and when it ended, each once, and begins anew after a resume", async () => {
  await addOperator(service, "emil", ["ACME/*"]);
  await addOperator(service, "fritz", ["ACME/PAR01"]);
  const alerts = { kind: "alerts", conditions: ["silent", "unmapped"] };
  const subscriptionId = await subscribe(service, "emil", alerts);
  await subscribe(service, "fritz", alerts);
  await refreshFigures(service.pool);
  await planMessages(service.pool);
  assert.deepEqual(await statesOf(service, subscriptionId), []);
  const cadence = { ...LISBON, name: "cadence.inventories" };
  await setSetting(service.pool, cadence, "0.001");
  await untilFound(async () => ((await planMessages(service.pool)) > 0 ? true : undefined));
  await planMessages(service.pool);
  const [began] = await untilReceived("emil", 1);
  assert.match(began?.headers.get("subject") ?? "", /Silent feed at/);
  assert.match(
    began?.text("text/plain") ?? "",
    /No batch of inventories since .*; one is expected every 0\.001 h/,
  );
  await setSetting(service.pool, cadence, "24");
  await planMessages(service.pool);
  const [, ended] = await untilReceived("emil", 2);
  assert.match(ended?.headers.get("subject") ?? "", /Ended: Silent feed at/);
  await planMessages(service.pool);
  await setSetting(service.pool, cadence, "0.001");
  await planMessages(service.pool);
  await untilReceived("emil", 3);
  const subscription = await findSubscription(service.pool, subscriptionId);
  const admin = { pool: service.pool, who: "cli:test" };
  await pauseSubscription(admin, subscription);
  assert.equal(await planMessages(service.pool), 0);
  await resumeSubscription(admin, subscription);
  assert.equal(await planMessages(service.pool), 1);
  await untilReceived("emil", 4);
  assert.equal(receivedBy("fritz").length, 0);
  await setSetting(service.pool, cadence, "24");
});

test("a client code with thousands of properties does not displace the alerts of others", async () => {
  await service.pool.query(
    `insert into bellhop.property (client_code, property_code, bucket, created_by)
    select 'AAAA', 'P' || n, 0, 'c1' from generate_series(1, 5001) as n`,
  );
  const cadence = { ...LISBON, name: "cadence.inventories" };
  await setSetting(service.pool, cadence, "0.001");
  try {
    await addOperator(service, "gina", ["*/*"]);
    await subscribe(service, "gina", { kind: "alerts", conditions: ["silent"] });
    await planMessages(service.pool);
    const [began] = await untilReceived("gina", 1);
    assert.match(began?.text("text/plain") ?? "", /Silent feed/);
  } finally {
    await setSetting(service.pool, cadence, "24");
    await service.pool.query("delete from bellhop.property where client_code = 'AAAA'");
  }
});

test("a condition that comes and goes is a few messages a day, and the last state is sent", async () => {
  const cadence = { ...LISBON, name: "cadence.inventories" };
  await addOperator(service, "hugo", ["ACME/LIS01"]);
  const subscriptionId = await subscribe(service, "hugo", { kind: "alerts", conditions: ["silent"] });
  const flap = async (times: number) => {
    for (let count = 0; count < times; count++) {
      await setSetting(service.pool, cadence, count % 2 === 0 ? "0.001" : "24");
      await planMessages(service.pool);
      // Otherwise the next change joins the message.
      await service.pool.query(
        "update bellhop.subscription_message set attempts = 1 where subscription_id = $1 and state = 'waiting'",
        [subscriptionId],
      );
    }
    return (await statesOf(service, subscriptionId)).length;
  };
  try {
    assert.equal(await flap(20), 6);
    const pass = (minutes: number) =>
      service.pool.query(
        "update bellhop.subscription_message set created_at = created_at - make_interval(mins => $2) where subscription_id = $1",
        [subscriptionId, minutes],
      );
    await pass(2);
    assert.equal(await flap(5), 7);
    const isOpen = async () => (await findSubscription(service.pool, subscriptionId)).openAlerts > 0;
    await setSetting(service.pool, cadence, (await isOpen()) ? "24" : "0.001");
    await planMessages(service.pool);
    assert.equal((await statesOf(service, subscriptionId)).length, 7);
    await pass(2);
    await planMessages(service.pool);
    await until(async () => (await statesOf(service, subscriptionId)).length === 8, WAIT_MS);
  } finally {
    await setSetting(service.pool, cadence, "24");
  }
});

const opened: { close(): unknown }[] = [];

const serve: typeof startMailServer = async (...given) => {
  const server = await startMailServer(...given);
  opened.push(server);
  return server;
};

/** A database without a service: its senders are the test's own. */
async function withoutService(work: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await createTestDatabase();
  try {
    await work(database);
  } finally {
    for (const one of opened.splice(0)) await one.close();
    await database.drop();
  }
}

function senderOn({ pool }: TestDatabase, url: string | undefined, report?: ReportSource): MessageSender {
  const transport = url === undefined ? undefined : createMailTransport({ url, from: FROM });
  if (transport !== undefined) opened.unshift(transport);
  return new MessageSender({
    pool,
    mail: transport,
    baseUrl: () => BASE_URL,
    unsubscribeKey: async () => Buffer.alloc(32),
    report,
    leaseSeconds: 1,
  });
}

const never = new AbortController().signal;
const silentLog = createLogger({ level: "silent", pretty: false });

/** Sends until nothing is due, as several nodes do. */
async function sendAll(senders: readonly MessageSender[]): Promise<void> {
  for (;;) {
    const settled = await Promise.all(senders.map((sender) => sender.sendDue(never)));
    if (settled.every((one) => one === undefined)) return;
  }
}

/** A node of its own process that sends what is due. */
function startNode(databaseUrl: string, mailUrl: string) {
  const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const program = `
    import pg from "pg";
    import { MessageSender } from ${from("../../src/delivery/deliver-messages.ts")};
    import { createMailTransport } from ${from("../../src/delivery/mail-transport.ts")};
    const mail = createMailTransport({ url: ${JSON.stringify(mailUrl)}, from: ${JSON.stringify(FROM)} });
    const pool = new pg.Pool({ connectionString: ${JSON.stringify(databaseUrl)} });
    const sender = new MessageSender({ pool, mail, baseUrl: () => "", unsubscribeKey: async () => Buffer.alloc(32), leaseSeconds: 1 });
    await sender.sendDue(new AbortController().signal);
    await pool.end();
    mail.close();`;
  const root = new URL("../..", import.meta.url);
  return spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

for (const moment of ["before the mail server has the message", "after it has the message"])
  test(`a node killed ${moment} loses none, and a repetition has the same Message-ID`, () =>
    withoutService(async (database) => {
      let node: ReturnType<typeof startNode> | undefined;
      const isEarly = moment.startsWith("before");
      const kill = async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        if (node === undefined) return;
        node.once("exit", () => resolve());
        node.kill("SIGKILL");
        node = undefined;
        await promise;
      };
      const server = await serve(
        {
          onMailFrom: (_address, _session, done) => {
            if (!isEarly || node === undefined) return done();
            kill().then(() => done(), done);
          },
        },
        kill,
      );
      await addOperator(database, "anna", ["ACME/*"]);
      const subscriptionId = await subscribe(database, "anna", { kind: "alerts", conditions: ["silent"] });
      await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "alerts" });
      node = startNode(database.url, server.url);
      await once(node, "exit");
      assert.equal(server.received.length, isEarly ? 0 : 1);
      assert.equal((await statesOf(database, subscriptionId))[0]?.state, "waiting");
      const sender = senderOn(database, server.url);
      await until(async () => (await sender.sendDue(never))?.state === "sent", WAIT_MS);
      assert.equal(await sender.sendDue(never), undefined);
      assert.equal(server.received.length, isEarly ? 1 : 2);
      assert.equal(new Set(server.received.map(({ headers }) => headers.get("message-id"))).size, 1);
    }));

test("several nodes send each message once", () =>
  withoutService(async (database) => {
    const server = await serve();
    for (const operator of ["anna", "berta", "carl"]) {
      await addOperator(database, operator, ["ACME/*"]);
      const subscriptionId = await subscribe(database, operator, { kind: "alerts", conditions: ["silent"] });
      for (let tests = 0; tests < 4; tests++)
        await queueTest(database.pool, { subscriptionId, operator, kind: "alerts" });
    }
    await sendAll([1, 2, 3].map(() => senderOn(database, server.url)));
    assert.equal(server.received.length, 12);
    assert.equal(new Set(server.received.map(({ headers }) => headers.get("message-id"))).size, 12);
  }));

test("slow messages of one operator do not hold up those of others, and tests come last", () =>
  withoutService(async (database) => {
    const ended = Promise.withResolvers<void>();
    const report: ReportSource = async (_pool, { propertyCode }) => {
      if (propertyCode === "SLOW01") await ended.promise;
      const link = { text: "Open", address: BASE_URL };
      return { subject: propertyCode, title: "A report", lead: [], tables: [], link, isAsOf: true };
    };
    const queue = async (operator: string, propertyCode: string) => {
      const input = { kind: "report", clientCode: "ACME", propertyCode, localTime: "00:00" };
      const subscriptionId = await subscribe(database, operator, input);
      for (let tests = 0; tests < 4; tests++)
        await queueTest(database.pool, { subscriptionId, operator, kind: "report" });
    };
    await addOperator(database, "anna", ["ACME/*"]);
    await addOperator(database, "berta", ["ACME/*"]);
    await queue("anna", "SLOW01");
    await queue("berta", "LIS01");
    const [one, other] = [1, 2].map(() => senderOn(database, undefined, report));
    const slow = one?.sendDue(never);
    await untilFound(async () => {
      const { rows } = await database.pool.query(
        "select from bellhop.subscription_message where attempts > 0",
      );
      return rows[0];
    });
    assert.equal(await planMessages(database.pool), 2);
    const subjects = async () =>
      (
        await database.pool.query<{ text: string }>(
          "select subject || ' ' || split_part(occasion, ':', 1) as text from bellhop.subscription_message where state = 'kept' order by settled_at",
        )
      ).rows.map(({ text }) => text);
    while ((await other?.sendDue(never)) !== undefined);
    assert.deepEqual(await subjects(), ["LIS01 report", ...Array.from({ length: 4 }, () => "LIS01 test")]);
    ended.resolve();
    await slow;
    await sendAll([senderOn(database, undefined, report)]);
    assert.equal((await subjects()).length, 10);
  }));

test("planning uses one connection, reads what alerts need, and queues reports also if alerts fail", () =>
  withoutService(async (database) => {
    const { pool } = database;
    await addOperator(database, "anna", ["*/*"]);
    await pool.query(
      `insert into bellhop.property (client_code, property_code, bucket, created_by)
      select 'ACME', code, 0, 'c1' from unnest('{LIS01,PAR01}'::text[]) as code`,
    );
    // What cannot be read as figures, of both.
    await pool.query(
      `insert into bellhop.property_figures (property_id, bucket, computed_at, due_at, basis, figures)
      select property_id, 0, now(), now(), '', '{"ranges": {"30": {}}}' from bellhop.property`,
    );
    const single = createPool(
      { connectionString: database.url, connectionTimeoutMillis: 3_000 },
      silentLog,
      1,
    );
    try {
      await subscribe(database, "anna", { kind: "alerts", conditions: ["silent", "quarantine"] });
      assert.equal(await planMessages(single), 0);
      await subscribe(database, "anna", { kind: "report", ...LISBON, localTime: "00:00" });
      await subscribe(database, "anna", { kind: "alerts", clientCode: "BETA", conditions: ["variance"] });
      assert.equal(await planMessages(single), 1);
      const report = { clientCode: "ACME", propertyCode: "PAR01", kind: "report", localTime: "00:00" };
      const subscriptionId = await subscribe(database, "anna", report);
      await subscribe(database, "anna", { kind: "alerts", conditions: ["variance"] });
      await assert.rejects(planMessages(single), TypeError);
      assert.equal((await statesOf(database, subscriptionId)).length, 1);
    } finally {
      await single.end();
    }
  }));

test("a refused recipient fails at once, a busy server is tried again, and no password is in the result", () =>
  withoutService(async (database) => {
    const answers = [451, 550];
    const server = await serve({
      onAuth: (_auth, _session, done) => done(null, { user: "a" }),
      onRcptTo: (_address, _session, done) => {
        const code = answers.shift() ?? 250;
        done(code === 250 ? null : Object.assign(new Error("no: bellhop:Pa55word"), { responseCode: code }));
      },
    });
    const url = server.url.replace("smtp://", "smtp://bellhop:Pa55word@");
    await addOperator(database, "anna", ["ACME/*"]);
    const subscriptionId = await subscribe(database, "anna", { kind: "alerts", conditions: ["silent"] });
    await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "alerts" });
    const sender = senderOn(database, url);
    const first = await sender.sendDue(never);
    assert.equal(first?.state, "retried");
    await database.pool.query("update bellhop.subscription_message set next_try_at = now()");
    const second = await sender.sendDue(never);
    assert.equal(second?.state, "failed");
    for (const { result } of await statesOf(database, subscriptionId)) {
      assert.match(result, /no: /);
      assert.doesNotMatch(result, /Pa55word/);
    }
  }));

test("a password goes to no server without TLS, also if it hides that it has it", () =>
  withoutService(async (database) => {
    let asked = 0;
    const server = await serve({
      onAuth: (_auth, _session, done) => {
        asked += 1;
        done(null, { user: "a" });
      },
    });
    // An address that is of this machine, and not written as such.
    const url = server.url.replace("smtp://127.0.0.1", "smtp://bellhop:Pa55word@0.0.0.0");
    await addOperator(database, "anna", ["ACME/*"]);
    const subscriptionId = await subscribe(database, "anna", { kind: "alerts", conditions: ["silent"] });
    await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "alerts" });
    const settled = await senderOn(database, url).sendDue(never);
    assert.equal(settled?.state, "retried");
    assert.match(settled.result, /STARTTLS/);
    assert.deepEqual([asked, server.received.length], [0, 0]);
  }));

test("what keeps a message from being made is in the log; too many records are said and not tried again", () =>
  withoutService(async (database) => {
    await addOperator(database, "anna", ["ACME/*"]);
    const subscriptionId = await subscribe(database, "anna", {
      kind: "report",
      ...LISBON,
      localTime: "00:00",
    });
    const sendFailing = async (error: Error) => {
      await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "report" });
      return senderOn(database, undefined, async () => {
        throw error;
      }).sendDue(never);
    };
    const failure = new Error("a bug");
    const failed = await sendFailing(failure);
    assert.deepEqual([failed?.state, failed?.err], ["retried", failure]);
    const refused = await sendFailing(new QuestionTooLarge("Too many records: ask for fewer nights."));
    assert.deepEqual(
      [refused?.state, refused?.result],
      ["dropped", "Too many records: ask for fewer nights."],
    );
  }));

test("without a mail server, reports are kept with what they say; old ones lose it, and go", () =>
  withoutService(async (database) => {
    await addOperator(database, "anna", ["ACME/*"]);
    const input = { kind: "report", ...LISBON, localTime: "00:00" };
    const subscriptionId = await subscribe(database, "anna", input);
    const messages = async () =>
      (
        await database.pool.query<{ state: string; subject: string; html: string | null }>(
          "select state, subject, body_html as html from bellhop.subscription_message order by created_at desc",
        )
      ).rows;
    for (let count = 0; count < 10; count++)
      await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "report" });
    await database.pool.query(
      "update bellhop.subscription_message set created_at = created_at - interval '1 day'",
    );
    for (let count = 0; count < 10; count++)
      await queueTest(database.pool, { subscriptionId, operator: "anna", kind: "report" });
    const report: ReportSource = async (_pool, { propertyCode }) => ({
      subject: `Report of ${propertyCode}`,
      title: "A report",
      lead: ["<script>"],
      tables: [],
      link: { text: "Open", address: BASE_URL },
      isAsOf: true,
    });
    await sendAll([senderOn(database, undefined, report)]);
    const kept = await messages();
    assert.deepEqual(new Set(kept.map(({ state }) => state)), new Set(["kept"]));
    assert.equal(kept[0]?.subject, "Report of LIS01");
    assert.match(kept[0]?.html ?? "", /&lt;script&gt;/);
    assert.doesNotMatch(kept[0]?.html ?? "", /unsubscribe/);
    await tidySubscriptions(database.pool);
    assert.deepEqual(
      (await messages()).map(({ html }) => html !== null),
      Array.from({ length: 20 }, (_, place) => place < 14),
    );
    await database.pool.query(
      "update bellhop.subscription_message set created_at = created_at - interval '30 days'",
    );
    await database.pool.query(
      `insert into bellhop.alert (subscription_id, bucket, property_id, condition, detail, began_at, ended_at, began_message)
      select subscription_id, 0, 1, 'silent', '{}', now(), now(), message_id from bellhop.subscription_message limit 1`,
    );
    await tidySubscriptions(database.pool);
    assert.deepEqual(await messages(), []);
    await tidySubscriptions(database.pool);
    assert.equal((await database.pool.query("select from bellhop.alert")).rowCount, 0);
  }));

test("a mail server is verified without a message; one that does not answer is said to", async () => {
  const server = await startMailServer();
  const transport = createMailTransport({ url: server.url, from: FROM });
  await transport.verify();
  transport.close();
  await server.close();
  assert.equal(server.received.length, 0);
  const other = createMailTransport({ url: server.url, from: FROM });
  await assert.rejects(other.verify(), (error) => error instanceof MailNotSent && !error.isPermanent);
  other.close();
});

test("due times of two thousand reports are written in short turns", async () => {
  await addOperator(service, "nora", ["ACME/*"]);
  const subscriptionId = await subscribe(service, "nora", { kind: "report", ...LISBON, localTime: "07:00" });
  const found = await findSubscription(service.pool, subscriptionId);
  const many = Array.from({ length: 2_000 }, () => found);
  await assertTurns(() => withDueTimes(service.pool, many, new Date()));
});

test("a subscription that makes no sense is refused, and an operator has at most 20", () =>
  withoutService(async (database) => {
    await addOperator(database, "anna", ["ACME/*"]);
    const admin = { pool: database.pool, who: "cli:test" };
    const refused: readonly [SubscriptionInput, RegExp][] = [
      [{ kind: "letter" }, /kind must be/],
      [{ kind: "report", clientCode: "ACME", localTime: "07:00" }, /of one property/],
      [{ kind: "report", ...LISBON, localTime: "7:00" }, /HH:MM/],
      [{ kind: "report", ...LISBON, localTime: "07:00", nights: 0 }, /1 to 365/],
      [{ kind: "report", ...LISBON, localTime: "07:00", conditions: ["silent"] }, /Only alerts/],
      [{ kind: "alerts", conditions: [] }, /some of silent/],
      [{ kind: "alerts", conditions: ["silent", "rain"] }, /some of silent/],
      [{ kind: "alerts", conditions: ["pickup"] }, /needs pickupRooms/],
      [{ kind: "alerts", conditions: ["silent"], pickupRooms: 5 }, /Only the alert pickup/],
      [{ kind: "alerts", conditions: ["silent"], localTime: "07:00" }, /Only reports/],
      [{ kind: "alerts", conditions: ["silent"], clientCode: "OTHER" }, /No property/],
    ];
    for (const [input, message] of refused)
      await assert.rejects(addSubscription(admin, "anna", input), message, JSON.stringify(input));
    await assert.rejects(
      addSubscription(admin, "bob", { kind: "alerts", conditions: ["silent"] }),
      /No operator/,
    );
    for (let count = 0; count < 20; count++)
      await addSubscription(admin, "anna", { kind: "alerts", conditions: ["silent"] });
    await assert.rejects(
      addSubscription(admin, "anna", { kind: "alerts", conditions: ["silent"] }),
      /at most 20 subscriptions/,
    );
    const [own] = (
      await database.pool.query<{ id: string }>(
        "select subscription_id as id from bellhop.subscription limit 1",
      )
    ).rows;
    const subscription = await findSubscription(database.pool, own?.id ?? "");
    for (let count = 0; count < 10; count++) await queueTest(database.pool, subscription);
    await assert.rejects(queueTest(database.pool, subscription), /10 tests an hour/);
  }));
