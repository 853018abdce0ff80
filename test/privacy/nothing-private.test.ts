import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { inventoryRecord, reservationRecord } from "../support/records.ts";
import {
  type Answer,
  type RequestOptions,
  startTestService,
  type TestClient,
  type TestService,
} from "../support/service.ts";
import { until } from "../support/until.ts";

const GUEST = "Aloysia Weber-Lange";
/** As it would stand in a log if somebody had typed it into the wrong field. */
const TYPED_SECRET = "bhs_this-is-not-the-secret";

/** A reservation with a guest's name wherever a text may stand, and where none may. */
const withGuest = (changes: object = {}) =>
  reservationRecord({
    profiles: [{ id: "P-1", name: GUEST, profileType: "Guest", context: GUEST }],
    cancellationReason: GUEST,
    remark: { of: GUEST },
    ...changes,
  });

describe("what the service logs, measures, audits and answers", () => {
  let service: TestService;
  let client: TestClient;
  let token: string;
  const answers: string[] = [];

  async function ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const answer = await service.send(method, path, { as: client, ...options });
    answers.push(`${[...answer.headers].join("\n")}\n${answer.text}`);
    return answer;
  }
  const push = (records: unknown, options: RequestOptions = {}) =>
    ask("POST", "/api/public/v1/reservations", { body: records as object, ...options });

  async function askForTokens(): Promise<void> {
    const form = (fields: Record<string, string>, path = "/api/oauth2/token") =>
      fetch(new URL(path, service.address), { method: "POST", body: new URLSearchParams(fields) });
    const grant = { grant_type: "client_credentials", client_id: client.clientId };
    const wrong = [
      await form({ ...grant, client_secret: TYPED_SECRET }),
      await form({ ...grant, client_secret: client.clientSecret, scope: TYPED_SECRET }),
      await form({ ...grant, client_secret: client.clientSecret, grant_type: TYPED_SECRET }),
      await form(grant, `/api/oauth2/token?client_secret=${client.clientSecret}&x=${TYPED_SECRET}`),
      await fetch(new URL("/api/oauth2/token", service.address), {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${client.clientId}:${TYPED_SECRET}`)}` },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
      }),
      await form({ ...grant, client_secret: client.clientSecret, token }, "/api/oauth2/introspect"),
    ];
    for (const response of wrong) {
      assert.ok(response.status >= 400, String(response.status));
      answers.push(`${[...response.headers].join("\n")}\n${await response.text()}`);
    }
  }

  async function makeTheDatabaseQuoteIt(): Promise<void> {
    await service.pool.query(`create function bellhop_state.quote_it() returns trigger language plpgsql as $$
      begin if new.key = 'QUOTED' then raise exception 'invalid input: "%"', '${GUEST}'
        using errcode = '22P02', detail = '${GUEST}'; end if; return new; end $$`);
    await service.pool.query(`create trigger quote_it before insert on bellhop_state.reservation_version
      for each row execute function bellhop_state.quote_it()`);
    const accepted = await push([withGuest({ reservationId: "QUOTED" })]);
    const path = accepted.headers.get("location") ?? assert.fail(accepted.text);
    await until(async () => (await ask("GET", path)).json()["status"] === "applied", 20_000);
    assert.equal(((await ask("GET", path)).json()["counts"] as { quarantined: number }).quarantined, 1);
    await service.pool.query(`create function bellhop.quote_it_too() returns trigger language plpgsql as $$
      begin raise exception 'a constraint is violated' using errcode = '23514', detail = '${GUEST}', hint = '${GUEST}';
      end $$`);
    await service.pool.query(`create trigger quote_it before insert on bellhop.property
      for each row execute function bellhop.quote_it_too()`);
    assert.equal((await push([withGuest({ propertyCode: "GONE" })])).status, 500);
    await service.pool.query("drop trigger quote_it on bellhop.property");
  }

  before(async () => {
    service = await startTestService({ logLevel: "trace" });
    client = await service.newClient();
    token = await client.token();
    assert.equal((await push([withGuest()])).status, 202);
    for (const refused of [
      [withGuest({ status: null })],
      [withGuest({ nationality: { name: GUEST }, channel: [GUEST], reservationId: GUEST.repeat(10) })],
      `[{"name":${GUEST}}]`,
      `[{"${GUEST}":"\\ud800"}, "${GUEST}"]`.slice(0, -1),
      [
        withGuest({
          roomStays: [{ arrivalDate: "2026-01-02", departureDate: "2026-01-01", roomTypeCode: GUEST }],
        }),
      ],
    ]) {
      assert.equal((await push(refused)).status, 400);
    }
    assert.equal((await push([withGuest({ clientCode: "OTHER" })])).status, 403);
    assert.equal((await push([withGuest(), {}], { headers: { prefer: "handling=lenient" } })).status, 202);
    assert.equal((await push([], { as: null, headers: { authorization: `Bearer ${token}x` } })).status, 403);
    assert.equal(
      (await ask("GET", `/api/public/v1/nowhere?token=${token}&name=${encodeURIComponent(GUEST)}`)).status,
      404,
    );
    assert.equal((await ask("GET", `/api/public/v1/requests?access_token=${token}`)).status, 400);
    await askForTokens();
    await makeTheDatabaseQuoteIt();
    answers.push((await service.get("/metrics", { as: null })).text);
  });
  after(() => service.stop());

  const holdsNone = (text: string, secrets: Readonly<Record<string, string>>, where: string) => {
    for (const [name, secret] of Object.entries(secrets))
      assert.ok(!text.includes(secret), `${name} in ${where}: ${text.slice(0, 2_000)}`);
  };
  /** Parts of each, so that a cut one is found too. */
  const secrets = () => ({
    "the client's secret": client.clientSecret.slice(0, 16),
    "a wrong secret": TYPED_SECRET.slice(0, 16),
    "a token's claims": token.split(".")[1]?.slice(0, 24) ?? "",
    "a token's signature": token.split(".")[2]?.slice(0, 24) ?? "",
  });
  const guest = { "a guest's name": "Aloysia" };

  test("the log has no secret, no token and no guest's name, at any level", () => {
    assert.ok(service.logLines().length > 20);
    for (const line of service.logLines()) holdsNone(line, { ...secrets(), ...guest }, "the log");
  });

  test("metrics, errors and headers have none either", () => {
    assert.ok(
      answers.some((text) => text.includes("bellhop_errors")),
      "the metrics are among them",
    );
    for (const text of answers) holdsNone(text, { ...secrets(), ...guest }, "an answer");
  });

  test("the audit has none either", async () => {
    const { rows } = await service.pool.query<{ line: string }>(
      "select row_to_json(entry)::text as line from bellhop.audit_entry entry",
    );
    assert.ok(rows.length >= 2);
    for (const { line } of rows) holdsNone(line, { ...secrets(), ...guest }, "the audit");
  });

  test("line breaks and escape codes in codes, headers and addresses stay inside one JSON line of the log", async () => {
    const hostile = 'x\r\n{"level":60,"msg":"forged"}\u001b[31m\u2028\u0085';
    assert.equal((await push([withGuest({ propertyCode: hostile })])).status, 202);
    assert.equal((await push([withGuest({ clientCode: hostile })])).status, 403);
    assert.equal((await push([inventoryRecord({ propertyCode: hostile, [hostile]: hostile })])).status, 400);
    await ask("GET", `/api/public/v1/${encodeURIComponent(hostile)}?${encodeURIComponent(hostile)}=1`);
    for (const line of service.logLines()) {
      assert.doesNotMatch(line, /\p{Cc}/u);
      const entry = JSON.parse(line) as Record<string, unknown>;
      assert.notEqual(entry["msg"], "forged");
    }
  });
});
