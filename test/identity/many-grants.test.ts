import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { AuditItem } from "../../src/identity/console-answers.ts";
import type { Grant } from "../../src/identity/grants.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** As many as a client may have. */
const GRANTS_MAX = 20_000;
const CLIENTS_MAX = 1_000;

let service: TestService;
let boss: ConsoleSession;
before(async () => {
  service = await startTestService();
  boss = await logInAsNew(service, "boss");
});
after(() => service.stop());

const grantsOf = (first: number, count: number, clientCode = "GRAND"): Grant[] =>
  Array.from({ length: count }, (_, at) => ({ clientCode, propertyCode: `P${first + at}` }));

const create = (session: ConsoleSession, grants: readonly Grant[]) =>
  session.post("clients", { name: "Partner", scopes: ["read"], grants });

test("an edit of many grants takes time in proportion to them, and changes what it names", async () => {
  const made = await create(boss, grantsOf(0, GRANTS_MAX));
  assert.equal(made.status, 200, made.text);
  const { clientId } = made.json() as { clientId: string };
  const edit = { removeGrants: grantsOf(0, 15_000).reverse(), addGrants: grantsOf(30_000, 14_000) };
  const before = process.cpuUsage();
  const edited = await boss.post(`clients/${clientId}/update`, edit);
  const { user } = process.cpuUsage(before);
  assert.equal(edited.status, 200, edited.text);
  // Four seconds in one piece where each was compared with each.
  assert.ok(user < 2_000_000, `${user} µs`);
  const { rows } = await service.pool.query<{ count: number; first: string }>(
    `select count(*)::integer as count, min(property_code) as first from bellhop.client_grant where client_id = $1`,
    [clientId],
  );
  assert.deepEqual(rows, [{ count: 19_000, first: "P15000" }]);
  const missing = await boss.post(`clients/${clientId}/update`, { removeGrants: grantsOf(0, 1) });
  assert.equal(missing.status, 422, missing.text);
  assert.match(missing.text, /The client has no grant GRAND\/P0\./);
});

test("an admin of some properties adds a bounded number of grants and clients; one of everything, as many as it takes", async () => {
  const ofMany = await logInAsNew(service, "many", { role: "admin", grants: ["MANY/*"] });
  const atOnce = await create(ofMany, grantsOf(0, 2_001, "MANY"));
  assert.equal(atOnce.status, 422, atOnce.text);
  assert.match(atOnce.text, /At most 2000 grants at once/);
  assert.equal((await create(ofMany, grantsOf(0, 2_000, "MANY"))).status, 200);
  assert.equal((await create(boss, grantsOf(0, GRANTS_MAX - 2_000, "MANY"))).status, 200);
  const refused = await create(ofMany, grantsOf(0, 1, "MANY"));
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.text, /MANY would have more than 1000 clients or 20000 grants/);
  assert.equal((await create(boss, grantsOf(0, 1, "MANY"))).status, 200);

  const ofCrowd = await logInAsNew(service, "crowd", { role: "admin", grants: ["CROWD/*"] });
  await service.pool.query(
    `insert into bellhop.client (client_id, name, scopes, changed_epoch) select 'c' || n, 'c', '{read}', 1 from generate_series(1, $1::integer) as n`,
    [CLIENTS_MAX - 1],
  );
  await service.pool.query(
    `insert into bellhop.client_grant (client_id, client_code, property_code) select 'c' || n, 'CROWD', '1' from generate_series(1, $1::integer) as n`,
    [CLIENTS_MAX - 1],
  );
  assert.equal((await create(ofCrowd, grantsOf(1, 1, "CROWD"))).status, 200);
  assert.equal((await create(ofCrowd, grantsOf(1, 1, "CROWD"))).status, 422);
});

test("the audit of many grants has their beginning on each page, and all of them in the database", async () => {
  const ofLong = await logInAsNew(service, "long", { role: "admin", grants: ["LONG/*"] });
  const grants = grantsOf(0, 5_000, "LONG");
  const { clientId } = (await create(boss, grants)).json() as { clientId: string };
  await ofLong.change(`clients/${clientId}/update`, { removeGrants: grants.slice(0, 300) });
  const { items } = await ofLong.read<{ items: readonly AuditItem[] }>("audit");
  const [updated, created] = items.filter((item) => item.clientId === clientId).map(({ detail }) => detail);
  const listed = created?.["grants"] as readonly unknown[];
  assert.deepEqual(listed.slice(0, 2), grants.slice(0, 2));
  assert.equal(listed.at(-1), `and ${5_000 - (listed.length - 1)} more`);
  assert.ok(listed.length <= 101 && JSON.stringify(created).length < 6_000, `${listed.length} entries`);
  const { removed } = (updated?.["editGrants"] ?? {}) as { removed: readonly unknown[] };
  assert.match(String(removed.at(-1)), /^and \d+ more$/);
  const { rows } = await service.pool.query<{ lists: Record<string, unknown> }>(
    "select lists from bellhop.audit_entry where client_id = $1 order by audit_id",
    [clientId],
  );
  assert.deepEqual(rows[0]?.lists, { grants });
  assert.deepEqual(rows[1]?.lists, { "editGrants.removed": grants.slice(0, 300) });
  const small = await create(ofLong, grantsOf(6_000, 2, "LONG"));
  const { clientId: other } = small.json() as { clientId: string };
  const { rows: short } = await service.pool.query(
    "select lists from bellhop.audit_entry where client_id = $1",
    [other],
  );
  assert.deepEqual(short, [{ lists: null }]);
});
