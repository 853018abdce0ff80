import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Grant } from "../../src/identity/grants.ts";
import { logInAsNew } from "../support/console-session.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DatabaseRoad, openRoad } from "../support/database-road.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** More than one page examines. */
const ENTRIES = 6_000;
const PAGE_BYTES_MAX = 1_048_576;

let database: TestDatabase;
let road: DatabaseRoad;
let service: TestService;
before(async () => {
  database = await createTestDatabase();
  road = await openRoad(database.url);
  service = await startTestService(
    {},
    { database: Object.assign(Object.create(database), { url: road.url }) },
  );
});
after(async () => {
  await service.stop();
  await road.close();
  await database.drop();
});

test("a page of the audit is read without the other entries that it examines, however long an admin has made them", async () => {
  const grants: Grant[] = Array.from({ length: 100 }, (_, at) => ({
    clientCode: "LONG",
    propertyCode: `${"\u4e00".repeat(100)}${at}`,
  }));
  const admin = await logInAsNew(service, "long", { role: "admin", grants: ["LONG/*"] });
  const made = await admin.change<{ clientId: string }>("clients", {
    name: "Long",
    scopes: ["read"],
    grants,
  });
  const origins = Array.from({ length: 50 }, (_, at) => `https://${"a".repeat(60)}.${"b".repeat(60)}.h${at}`);
  const edit = { addGrants: grants, removeGrants: grants, replyToOrigins: origins };
  await admin.change(`clients/${made.clientId}/update`, edit);
  const { rows } = await service.pool.query<{ characters: number }>(
    `with last as (select * from bellhop.audit_entry order by audit_id desc limit 1),
    more as (
      insert into bellhop.audit_entry (who, what, client_id, detail, role)
      select who, what, client_id, detail, role from last, generate_series(1, $1::integer)
    )
    select length(detail::text) as characters from last`,
    [ENTRIES],
  );
  assert.ok(
    (rows[0]?.characters ?? 0) < 6_000,
    `${rows[0]?.characters} characters of the lists of one entry`,
  );
  for (const { query, items, pages } of [
    { query: "limit=2", items: 2, pages: 3 },
    { query: "limit=2&what=update", items: 2, pages: 3 },
    { query: "limit=2&what=never", items: 0, pages: 1 },
  ]) {
    let cursor = "";
    for (let page = 1; page <= pages; page += 1) {
      const before = road.bytesBrought;
      const answer = await admin.read<{ items: readonly unknown[]; nextCursor: string | null }>(
        `audit?${query}${cursor}`,
      );
      assert.equal(answer.items.length, items);
      assert.notEqual(answer.nextCursor, null);
      assert.ok(road.bytesBrought - before < PAGE_BYTES_MAX, `${road.bytesBrought - before} bytes`);
      cursor = `&cursor=${answer.nextCursor}`;
    }
  }
});
