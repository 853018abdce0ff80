import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { logInAsNew } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

interface Listed {
  readonly items: readonly { readonly name: string }[];
}

test("operators of one client code keep no others out of a list, and are bounded", async () => {
  const acme = await logInAsNew(service, "acme", { role: "admin", grants: ["ACME/*"] });
  const grand = await logInAsNew(service, "grand", { role: "admin", grants: ["GRAND/*", "ACME/LIS01"] });
  for (const [name, grants] of [
    ["within", ["ACME/LIS01", "ACME/OPO01"]],
    ["both", ["ACME/LIS01", "GRAND/P1"]],
    ["all", ["*/*"]],
  ] as const)
    await logInAsNew(service, name, { role: "viewer", grants: [...grants] });
  const plant = (first: number, last: number) =>
    service.pool.query(
      `insert into bellhop.operator (name, role, grants, email)
      select '0' || n, 'viewer', '{GRAND/P1}', n || '@grand.example' from generate_series($1::integer, $2::integer) as n`,
      [first, last],
    );
  const create = (email: string) =>
    grand.post("operators", { name: email.split("@")[0], role: "viewer", grants: ["GRAND/P1"], email });
  // With the admin itself and the one of both.
  await plant(1, 197);
  assert.equal((await create("last@grand.example")).status, 200);
  const refused = await create("more@grand.example");
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.text, /Your properties have 200 operators/);
  const grants = Array.from({ length: 101 }, (_, at) => `GRAND/P${at}`);
  const many = await grand.post("operators/last/set", { grants });
  assert.equal(many.status, 422, many.text);
  assert.match(many.text, /At most 100 grants/);
  assert.equal((await grand.post("operators/last/set", { grants: grants.slice(1) })).status, 200);
  const boss = await logInAsNew(service, "boss");
  assert.equal((await boss.post("operators/last/set", { grants })).status, 200);
  await plant(198, 2_000);
  const { items } = await acme.read<Listed>("operators");
  assert.deepEqual(
    items.map(({ name }) => name),
    ["acme", "within"],
  );
});
