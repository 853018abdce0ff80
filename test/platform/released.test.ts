import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import { FILLED_ENVIRONMENT } from "../../scripts/release/fill-service.ts";
import type { ReleasedAnswers } from "../../scripts/release/freeze-release.ts";
import { RELEASED, readReleases } from "../../scripts/release/releases.ts";
import { replay } from "../../src/apply/replay.ts";
import { isAtLeast } from "../../src/platform/db/code-version.ts";
import { readMigrations } from "../../src/platform/db/migrate.ts";
import { readRecords } from "../../src/platform/db/migration-records.ts";
import { createEmptyTestDatabase, type TestDatabase } from "../support/database.ts";
import { loadDatabase } from "../support/released-database.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const RELATIONS = [
  "room_type_inventory",
  "reservation",
  "room_stay",
  "stay_night",
  "daily_revenue",
  "group_block_master",
  "group_block_night",
];

/** Whether an answer says all that another said; it may say more. */
function assertSays(now: unknown, before: unknown, where: string): void {
  if (typeof before !== "object" || before === null) {
    assert.deepEqual(now, before, where);
    return;
  }
  if (Array.isArray(before)) assert.equal((now as unknown[]).length, before.length, where);
  // Of an array these are its places.
  for (const [name, value] of Object.entries(before))
    assertSays((now as Record<string, unknown> | undefined)?.[name], value, `${where}.${name}`);
}

/** Of a list its items: beside them stand the moment of the question, and cursors that are never the same twice. */
function reportedBy(body: unknown): unknown {
  const { items } = body as { items?: unknown };
  return items ?? body;
}

const releases = await readReleases();
const ours = await readMigrations();

for (const { version, migrations } of releases) {
  describe(`a database of version ${version}, with data in it`, () => {
    const fileOf = (name: string) => readFile(new URL(`${version}/${name}`, RELEASED));
    let database: TestDatabase;
    let client: pg.Client;
    let released: ReleasedAnswers;
    let shownBefore: unknown;
    let service: TestService;

    /** What analysts see, row by row as text. */
    const shown = async () => {
      const views: Record<string, unknown> = {};
      for (const name of RELATIONS) {
        const { rows } = await client.query(
          `select md5(string_agg(t::text, ';' order by t::text)) as sum, count(*)::integer as rows from analytics.${name} t`,
        );
        views[name] = rows[0];
      }
      return views;
    };

    before(async () => {
      released = JSON.parse(gunzipSync(await fileOf("answers.json.gz")).toString()) as ReleasedAnswers;
      database = await createEmptyTestDatabase();
      client = new pg.Client(database.clientConfig);
      await client.connect();
      const theirs = ours.filter(({ name }) => name in migrations);
      await loadDatabase(client, theirs, await fileOf("database.gz"));
      shownBefore = await shown();
      service = await startTestService(
        {
          keyEncryptionKey: FILLED_ENVIRONMENT.KEY_ENCRYPTION_KEY,
          webhookAllowedNetworks: [FILLED_ENVIRONMENT.WEBHOOK_ALLOWED_NETWORKS],
        },
        { database },
      );
    });
    after(async () => {
      await service.stop();
      await client.end();
      await database.drop();
    });

    test("is migrated to the current version, and every view returns the same", async () => {
      for (const { rows } of Object.values(shownBefore as Record<string, { rows: number }>))
        assert.ok(rows > 0);
      assert.deepEqual(await shown(), shownBefore);
    });

    test("still lets that version start: its schema is complete, and nothing new is required of it", async () => {
      const records = await readRecords(client);
      const had = records.filter(({ name }) => name in migrations);
      assert.deepEqual(Object.fromEntries(had.map(({ name, checksum }) => [name, checksum])), migrations);
      const unknown = records.filter(({ name }) => !(name in migrations));
      assert.deepEqual(
        unknown.filter(({ oldest }) => oldest !== null && !isAtLeast(version, oldest)),
        [],
      );
    });

    test("gives its partner a token, and every answer that it gave", async () => {
      const { client_id, client_secret } = released;
      const form = { grant_type: "client_credentials", client_id, client_secret };
      const answer = await fetch(`${service.address}/api/oauth2/token`, {
        method: "POST",
        body: new URLSearchParams(form),
      });
      assert.equal(answer.status, 200);
      const { access_token } = (await answer.json()) as { access_token: string };
      const headers = { authorization: `Bearer ${access_token}` };
      for (const { path, body } of released.answers) {
        const said = await service.get(path, { as: null, headers });
        assert.equal(said.status, 200, path);
        assertSays(reportedBy(said.json()), reportedBy(body), path);
      }
    });

    test("has the state that it had, and a replay of its log gives it again", async () => {
      const report = await replay({ clientConfig: database.clientConfig, pool: database.pool, swap: false });
      assert.deepEqual(report.rebuilt, report.live);
      assertSays(report.live, released.replay.live, "state");
    });

    test("accepts new batches", async () => {
      const record = {
        clientCode: "ACME",
        propertyCode: "PARIS01",
        reservationId: "R-1",
        status: "RESERVED",
        lastModifiedDateTime: "2026-04-01T00:00:00Z",
        roomStays: [{ arrivalDate: "2026-06-01", departureDate: "2026-06-02", roomTypeCode: "STD" }],
      };
      const answer = await service.post("reservations", [record]);
      assert.equal(answer.status, 202, answer.text);
      const { requestId } = answer.json();
      await until(
        async () =>
          (await service.get(`/api/public/v1/requests/${requestId}`)).json()["status"] === "applied",
        60_000,
      );
      const history = await service.get(
        "/api/public/v1/reservations/history?clientCode=ACME&propertyCode=PARIS01&reservationId=R-1",
      );
      const { items } = history.json() as { items: unknown[] };
      assert.equal(items.length, 4);
    });
  });
}
