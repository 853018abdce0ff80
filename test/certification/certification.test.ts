import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { datesFrom } from "#contract/dates.ts";
import {
  endCertification,
  findCertification,
  openCertification,
} from "../../src/certification/certification.ts";
import { readReport } from "../../src/certification/read-report.ts";
import { WireNotes } from "../../src/certification/wire-notes.ts";
import { signAccessToken } from "../../src/identity/access-token.ts";
import type { SigningKey } from "../../src/identity/signing-key.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { mapStatus } from "../../src/settings/status-mapping.ts";
import { asBackfill, post } from "../support/backfill-fixture.ts";
import { bellhop } from "../support/command.ts";
import { assertDocumented } from "../support/openapi.ts";
import { inventory, reservation } from "../support/read-fixture.ts";
import { type Answer, startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { certifiedClient, resultsOf, standingOf } from "./certified-client.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const PATH = "/api/public/v1/certification";

test("the response matches the API document", async () => {
  const document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
  const { client: as } = await certifiedClient(service, "OPEN");
  await service.post("reservations", [stay("d1", "2026-01-01T00:00:00Z", { status: "WHATEVER" })], {
    as,
    headers: { "idempotency-key": "d-1" },
  });
  for (const options of [{}, { as }]) {
    const answer = await service.get(PATH, options);
    assert.equal(answer.status, 200, answer.text);
    assertDocumented(document, "GET", PATH, answer);
  }
  const refused = await service.get(`${PATH}?since=today`, { as });
  assert.equal(refused.status, 400);
  assertDocumented(document, "GET", PATH, refused);
});

const admin = () => ({ internals: service.service.authenticator.internals, who: "cli:test" });
const stay = (id: string, modified: string, more: Record<string, unknown> = {}) =>
  reservation(id, modified, { clientCode: "OPEN", ...more });

test("a client without a certification is answered that it has none", async () => {
  const answer = await service.get(PATH);
  assert.deepEqual([answer.status, answer.json()], [200, { certification: null }]);
});

test("a client under certification has the certification's limits, and its own again once it ends", async () => {
  const { client } = await certifiedClient(service, "TERMS", { requestBurst: 7, tokenSeconds: 120 });
  const ask = () => service.get("/api/public/v1/requests", { as: client });
  assert.match((await ask()).headers.get("ratelimit-policy") ?? "", /q=7/);
  const token = await fetch(new URL("/api/oauth2/token", service.service.authAddress), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }),
  });
  assert.equal(((await token.json()) as { expires_in: number }).expires_in, 120);
  assert.equal(await endCertification(admin(), client.clientId), true);
  assert.match((await ask()).headers.get("ratelimit-policy") ?? "", /q=100000/);
  assert.equal(await endCertification(admin(), client.clientId), false);
});

test("a certified client gets its own limits back when the certification expires, without a change event", async () => {
  const { client, certificationId } = await certifiedClient(service, "OVER", { requestBurst: 7 });
  await client.token();
  const end =
    "update bellhop.certification set ends_at = clock_timestamp() + interval '4 s' where certification_id = $1";
  await service.pool.query(end, [certificationId]);
  const policy = async () =>
    (await service.get("/api/public/v1/requests", { as: client })).headers.get("ratelimit-policy") ?? "";
  assert.match(await policy(), /q=7/);
  const { clientId } = client;
  await until(async () => (await findCertification(service.pool, clientId))?.isOpen === false, 60_000);
  // The service's idea of the database's clock may be behind by half of a question to it.
  await until(async () => /q=100000/.test(await policy()), 20_000);
});

test("up to ten reports of a client wait, do not delay other clients, and stop when the client disconnects", async () => {
  const [{ client: as }, { client: other }] = [
    await certifiedClient(service, "MANY"),
    await certifiedClient(service, "FEW"),
  ];
  for (const client of [as, other]) await standingOf(service, client);
  const holder = await service.pool.connect();
  await holder.query("begin; lock table bellhop.backfill in access exclusive mode");
  const isReading = async () => {
    // Not in the holder's transaction, which sees the statements of its first look.
    const { rowCount } = await service.pool.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%statement_hash as hash%'",
    );
    return rowCount === 1;
  };
  try {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${await as.token()}` };
    const left = assert.rejects(fetch(new URL(PATH, service.address), { headers, signal: leaving.signal }));
    await until(isReading, 60_000);
    leaving.abort();
    await left;
    await until(async () => !(await isReading()), 60_000);

    const answers: Answer[] = [];
    const ask = async (client: TestClient) => {
      const answer = await service.get(PATH, { as: client });
      answers.push(answer);
      return answer.status;
    };
    const asked = Array.from({ length: 12 }, () => ask(as));
    await until(() => answers.length > 0, 60_000);
    const others = ask(other);
    assert.match(answers[0]?.text ?? "", /Too many certification reports are waiting/);
    await holder.query("rollback");
    assert.equal(await others, 200);
    assert.deepEqual((await Promise.all(asked)).sort(), [...Array(11).fill(200), 429]);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
});

test("a failure is reported with its requests, and no longer counts with a later `since`", async () => {
  const { client: as } = await certifiedClient(service, "OPEN");
  const booked = await service.post("reservations", [stay("c1", "2026-01-01T00:00:00Z")], { as });
  const cancelled = stay("c1", "2026-01-02T00:00:00Z", { status: "CANCELLED" });
  const answer = await service.post("reservations", [cancelled], { as });
  assert.deepEqual([booked.status, answer.status], [202, 202]);
  const failed = await standingOf(service, as);
  const step = failed.steps.find(({ step }) => step === "cancellation");
  assert.equal(step?.result, "fail");
  assert.match(step?.reason ?? "", /c1 is cancelled and has no cancellationDateTime/);
  assert.deepEqual(step?.requestIds, [answer.json()["requestId"]]);
  assert.equal(failed.verdict, "failed");

  const again = await standingOf(
    service,
    as,
    `?since=${failed.evidence.until?.replace(/\d{6}Z$/, "999999Z")}`,
  );
  assert.equal(resultsOf(again)["cancellation"], "not-yet");
  assert.equal(again.verdict, "incomplete");
});

test("the same evidence gives the same report, and other evidence another hash", async () => {
  const { client: as, certificationId } = await certifiedClient(service, "OPEN");
  await service.post("reservations", [stay("h1", "2026-01-01T00:00:00Z")], { as });
  const first = await standingOf(service, as);
  await service.post("reservations", [stay("h2", "2026-01-01T00:00:00Z")], { as });
  const second = await standingOf(service, as);
  assert.notEqual(second.evidence.hash, first.evidence.hash);
  const certification = await findCertification(service.pool, certificationId);
  assert.ok(certification !== undefined);
  const until = first.evidence.until ?? undefined;
  assert.deepEqual(await readReport(service.pool, certification, { until }), first);
  assert.deepEqual(await readReport(service.pool, certification, {}), second);
});

test("events are recorded only for clients under certification", async () => {
  const { client: as, certificationId } = await certifiedClient(service, "OPEN", { requestBurst: 5 });
  const post = (body: object[], headers: Record<string, string> = {}) =>
    service.post("reservations", body, { as, headers });
  const record = stay("w1", "2026-01-01T00:00:00Z");
  for (const _attempt of [1, 2]) await post([record], { "idempotency-key": "k-1" });
  await post([record, {}], { prefer: "handling=lenient" });
  await post([{ ...record, status: null }]);
  await post([{ ...record, clientCode: "NOBODY" }]);
  await until(async () => (await post([record])).status === 429, 60_000);
  await service.post("reservations", [{ ...record, clientCode: "ACME" }], {
    headers: { "idempotency-key": "k-2" },
  });
  const kinds = async () => {
    const { rows } = await service.pool.query<{ kind: string; client: string; code: string | null }>(
      `select distinct kind, client_id as client, detail ->> 'code' as code
      from bellhop.certification_event join bellhop.certification using (certification_id)
      where certification_id = $1 order by kind, code`,
      [certificationId],
    );
    return rows;
  };
  const of = { client: as.clientId };
  const expected = [
    { kind: "rate-limited", ...of, code: null },
    { kind: "refused", ...of, code: "bellhop.contract.InvalidRecords" },
    { kind: "refused", ...of, code: "foreign-property" },
    { kind: "repeated", ...of, code: null },
    { kind: "sent", ...of, code: null },
    { kind: "token", ...of, code: null },
  ];
  await until(async () => (await kinds()).length === expected.length, 60_000);
  assert.deepEqual(await kinds(), expected);
  const { rows } = await service.pool.query<{ open: boolean }>(
    "select exists (select from bellhop.certification_event join bellhop.certification using (certification_id) where client_id = $1) as open",
    [service.client.clientId],
  );
  assert.deepEqual(rows, [{ open: false }]);
});

test("an expired token is recorded for its client, a forged one for none", async () => {
  const { client: as } = await certifiedClient(service, "OPEN");
  const { internals } = service.service.authenticator;
  const key = internals.directory.signingKey() as SigningKey;
  const twoHoursAgo = internals.directory.now() - 7_200_000;
  const grant = { clientId: as.clientId, scopes: ["read"] };
  const { accessToken } = await signAccessToken(grant, await internals.parties(), key, twoHoursAgo);
  const send = (token: string) =>
    service.get(PATH, { as: null, headers: { authorization: `Bearer ${token}` } });
  const reason = async () =>
    (await standingOf(service, as)).steps.find(({ step }) => step === "token-use")?.reason ?? "";
  const signature = accessToken.lastIndexOf(".") + 1;
  const letter = accessToken[signature] === "A" ? "B" : "A";
  const forged = accessToken.slice(0, signature) + letter + accessToken.slice(signature + 1);
  assert.equal((await send(forged)).status, 403);
  assert.doesNotMatch(await reason(), /expired token/);
  assert.equal((await send(accessToken)).status, 403);
  await until(async () => /expired token/.test(await reason()), 60_000);
});

test("events are limited per kind, and failures to record them have no effect", async () => {
  const { certificationId } = await certifiedClient(service, "OPEN");
  const failures: unknown[] = [];
  const notes = new WireNotes(service.pool, Date.now, (error) => failures.push(error));
  for (let round = 0; round < 12; round += 1) {
    for (let event = 0; event < 100; event += 1)
      notes.note(certificationId, { kind: "rate-limited", detail: { retryAfterSeconds: 3 } });
    await notes.settled();
  }
  notes.note(certificationId, { kind: "token-limited", detail: {} });
  await notes.settled();
  const { rows } = await service.pool.query<{ kind: string; count: number }>(
    "select kind, count(*)::integer from bellhop.certification_event where certification_id = $1 group by kind order by kind",
    [certificationId],
  );
  assert.deepEqual(rows, [
    { kind: "rate-limited", count: 1_000 },
    { kind: "token-limited", count: 1 },
  ]);
  notes.note("no uuid", { kind: "token-limited", detail: {} });
  await notes.settled();
  assert.deepEqual([failures.length, String(failures[0]).includes("uuid")], [1, true]);
});

test("a loop of one client neither displaces another's events, nor holds up who waits for the earlier ones", async () => {
  const [loop, other] = await Promise.all(["LOOP", "QUIET"].map((code) => certifiedClient(service, code)));
  const notes = new WireNotes(service.pool, Date.now, (error) => assert.fail(String(error)));
  const again = () =>
    notes.note(loop?.certificationId ?? "", { kind: "rate-limited", detail: { retryAfterSeconds: 3 } });
  for (let event = 0; event < 2_000; event += 1) again();
  notes.note(other?.certificationId ?? "", { kind: "token-limited", detail: {} });
  const endsAt = performance.now() + 60_000;
  let isLooping = true;
  const looping = (async () => {
    while (isLooping && performance.now() < endsAt) {
      again();
      await new Promise((resume) => setImmediate(resume));
    }
  })();
  await notes.settled();
  assert.ok(performance.now() < endsAt, "it waited for events that were noted later");
  isLooping = false;
  await looping;
  await notes.settled();
  const { rows } = await service.pool.query<{ count: number }>(
    "select count(*)::integer as count from bellhop.certification_event where certification_id = $1 and kind = 'token-limited'",
    [other?.certificationId],
  );
  assert.deepEqual(rows, [{ count: 1 }]);
});

test("requests after the end of a certification never count", async () => {
  const { client: as } = await certifiedClient(service, "ENDED");
  assert.equal(await endCertification(admin(), as.clientId), true);
  const sent = reservation("E1", "2026-01-01T00:00:00Z", { clientCode: "ENDED" });
  assert.equal((await service.post("reservations", [sent], { as })).status, 202);
  for (const query of ["", "?until=2999-01-01T00:00:00Z"]) {
    const { certification } = (await service.get(PATH + query, { as })).json() as {
      certification: { observed: { batches: number } };
    };
    assert.equal(certification.observed.batches, 0, query);
  }
});

test("another certification of the client ends the one before", async () => {
  const { client, certificationId } = await certifiedClient(service, "OPEN");
  const next = await openCertification(admin(), client.clientId);
  const before = await findCertification(service.pool, certificationId);
  assert.deepEqual([before?.isOpen, next.isOpen], [false, true]);
  assert.equal(
    (await findCertification(service.pool, client.clientId))?.certificationId,
    next.certificationId,
  );
});

/** Runs `bellhop certify …` on the service's database, in this process. */
const certify = (...args: string[]) => bellhop(["certify", ...args], {}, admin());

test("an operator opens a certification by command, sees its progress, exports its report, and ends it", async () => {
  const as = await service.newClient({ grants: [{ clientCode: "CLI", propertyCode: "*" }] });
  const opened = await certify("start", "--client-id", as.clientId, "--burst", "9", "--token-seconds", "600");
  assert.equal(opened.code, 0, opened.err);
  assert.match(opened.out, /CLI\/CERT01/);
  assert.match(opened.out, /token lifetime +600 seconds/);
  assert.match(opened.out, /15\. One token for many requests, renewed before it expires/);

  const name = '<script>alert("x")</script>';
  const record = stay(name, "2026-01-01T00:00:00Z", { clientCode: "CLI", status: "CANCELLED" });
  assert.equal((await service.post("reservations", [record], { as })).status, 202);
  await standingOf(service, as);
  const shown = await certify("show", as.clientId);
  assert.equal(shown.code, 1);
  assert.match(shown.out, /FAIL +cancellation +<script>alert\("x"\)<\/script> is cancelled and has no/);
  assert.match(shown.out, /Verdict: failed \(evidence from /);
  const { certificationId } = JSON.parse((await certify("show", as.clientId, "--json")).out);
  const page = await certify("report", certificationId, "--html");
  assert.match(page.out, /&lt;script&gt;alert\(&quot;x&quot;\)&lt;\/script&gt; is cancelled/);
  assert.doesNotMatch(page.out, /<script/);
  const markdown = await certify("report", certificationId);
  assert.match(markdown.out, /## A cancelled reservation: FAILED\n\n`cancellation`: \\<script\\>alert/);
  assert.match(
    (await certify("list", "--client-id", as.clientId)).out,
    new RegExp(`${certificationId} .* open`),
  );

  assert.deepEqual((await certify("end", as.clientId)).code, 0);
  assert.match((await certify("end", as.clientId)).err, /has no open certification/);
  assert.match((await certify("list")).out, new RegExp(`${certificationId} .* ended`));
});

test("an invalid command line is refused with the valid form", async () => {
  const { clientId } = await service.newClient({ grants: [{ clientCode: "CLI", propertyCode: "ONE" }] });
  for (const [args, code, message] of [
    [["start"], 2, /--client-id is missing/],
    [["start", "--client-id", clientId, "--property", "CLI/TWO"], 1, /may not push CLI\/TWO/],
    [
      ["start", "--client-id", clientId, "--token-seconds", "9"],
      1,
      /tokenSeconds must be a whole number from 10/,
    ],
    [["start", "--client-id", "nobody"], 1, /No client has the id "nobody"/],
    [["show", "nobody"], 1, /No certification has the id "nobody"/],
    [["show", clientId, "--since", "today"], 2, /--since must be a UTC time/],
    [["report", clientId, "--json", "--html"], 2, /--json, --html and --markdown cannot be combined/],
    [["reference", "--client-id", "x"], 2, /--url is missing/],
  ] as const) {
    const answer = await certify(...args);
    assert.equal(answer.code, code, args.join(" "));
    assert.match(answer.err, message);
  }
});

test("a word of the hotel's own for a cancellation counts once the operator has mapped it", async () => {
  const { client: as } = await certifiedClient(service, "WORDS");
  const booked = stay("w1", "2026-01-01T00:00:00Z", { clientCode: "WORDS" });
  const more = { status: "STORNIERT", cancellationDateTime: "2026-01-02T00:00:00Z" };
  for (const record of [booked, { ...booked, ...more, lastModifiedDateTime: "2026-01-02T00:00:00Z" }])
    assert.equal((await service.post("reservations", [record], { as })).status, 202);
  const before = await standingOf(service, as);
  assert.equal(resultsOf(before)["cancellation"], "fail");
  const status = { clientCode: "WORDS", resource: "reservations", status: "STORNIERT" } as const;
  await mapStatus(service.pool, status, false);
  const after = await standingOf(service, as);
  assert.equal(resultsOf(after)["cancellation"], "pass");
  assert.notEqual(after.evidence.hash, before.evidence.hash);
});

test("a cold start that was closed as a backfill, with nothing missing, is one, whatever its dates are", async () => {
  const { client: as } = await certifiedClient(service, "STARTED");
  const codes = { clientCode: "STARTED", propertyCode: "H1" };
  const dates = datesFrom("2023-01-01", 90);
  const last = dates.at(-1) ?? "";
  const opened = await post(
    service,
    "",
    {
      ...codes,
      resources: [
        { resource: "inventories", from: "2023-01-01", to: last },
        { resource: "reservations", from: "2023-01-01", to: last, expectedRecords: 10 },
      ],
    },
    { as },
  );
  assert.equal(opened.status, 201, opened.text);
  const { backfillId } = asBackfill(opened);
  const headers = { "backfill-id": backfillId };
  const nights = dates.map((date) => inventory(date, "2023-01-01T00:00:00Z", codes));
  const stays = dates.slice(0, 10).map((_, at) => stay(`b${at}`, "2023-01-01T00:00:00Z", codes));
  assert.equal((await service.post("inventories", nights, { as, headers })).status, 202);
  assert.equal((await service.post("reservations", stays, { as, headers })).status, 202);
  assert.equal(resultsOf(await standingOf(service, as))["cold-start"], "not-yet");
  // What was received within the last seconds has to settle first.
  await until(async () => (await post(service, `/${backfillId}/close`, {}, { as })).status === 200, 60_000);
  const report = await standingOf(service, as);
  const step = report.steps.find((one) => one.step === "cold-start");
  assert.equal(step?.result, "pass", step?.reason);
  assert.match(
    step?.reason ?? "",
    new RegExp(`${backfillId} is closed and complete: 90 dates and 10 reservations`),
  );
});

test("records of many small values are parsed up to a bound of memory", async () => {
  const { client: as } = await certifiedClient(service, "OPEN");
  // Values are counted by what separates them; a text of it is applied faster than as many values.
  const extra = ",".repeat(250_000);
  const sent = Array.from({ length: 9 }, (_, at) => stay(`many${at}`, "2026-01-01T00:00:00Z", { extra }));
  const { status, text } = await service.post("reservations", sent, { as });
  assert.equal(status, 202, text);
  const report = await standingOf(service, as);
  assert.equal(report.evidence.isWhole, false);
});
