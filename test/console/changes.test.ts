import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type {
  AuditItem,
  ClientAnswer,
  ClientItem,
  ClientOptionsAnswer,
  CreateClientAnswer,
  RotateSecretAnswer,
} from "../../src/identity/console-answers.ts";
import type { Page } from "../../src/platform/http/answers.ts";
import type { SettingsAnswer, StatusesAnswer } from "../../src/settings/console-answers.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let session: ConsoleSession;
before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
});
after(() => service.stop());

const GRANTS = [{ clientCode: "ACME", propertyCode: "*" }];

async function tokenStatus({ clientId, clientSecret }: CreateClientAnswer): Promise<number> {
  const response = await fetch(new URL("/api/oauth2/token", service.address), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  await response.arrayBuffer();
  return response.status;
}

const create = (more: object = {}) =>
  session.change<CreateClientAnswer>("clients", {
    name: "Made here",
    scopes: ["read"],
    grants: GRANTS,
    ...more,
  });
const show = (clientId: string) => session.read<ClientAnswer>(`clients/${clientId}`);

describe("clients", () => {
  test("are created with a valid secret that is shown only once", async () => {
    const made = await create({ requestRate: 7, secretExpiresSeconds: 86_400 });
    assert.equal(await tokenStatus(made), 200);
    const shown = await show(made.clientId);
    assert.equal(shown.name, "Made here");
    assert.deepEqual(shown.grants, GRANTS);
    assert.equal(shown.grantTotal, 1);
    assert.deepEqual([shown.requestRate, shown.requestBurst], [7, null]);
    assert.equal(shown.secrets.length, 1);
    assert.ok(shown.secrets[0]?.expiresAt);
    assert.ok(shown.lastUsedAt);
    const options = await session.read<ClientOptionsAnswer>("client-options");
    assert.ok(options.knownScopes.includes("reservations:write"));
    assert.equal(options.defaults.tokenBurst, service.config.tokenBurst);
    assert.deepEqual(
      options.defaults.scopes,
      options.knownScopes.filter((scope) => scope !== "introspect"),
    );
    for (const path of ["clients", `clients/${made.clientId}`, "audit"])
      assert.ok(!(await session.get(path)).text.includes(made.clientSecret), path);
    for (const line of service.logLines()) assert.ok(!line.includes(made.clientSecret));
  });

  test("are listed page by page and found by a part of their name or id", async () => {
    const made = await create({ name: "Quite Another Partner" });
    for (const search of ["another part", made.clientId.slice(3, 12)]) {
      const { items } = await session.read<Page<ClientItem>>(`clients?search=${encodeURIComponent(search)}`);
      assert.deepEqual(
        items.map(({ clientId }) => clientId),
        [made.clientId],
      );
    }
    const all = await session.read<Page<ClientItem>>("clients");
    const walked: ClientItem[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Page<ClientItem> = await session.read(
        `clients?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      walked.push(...page.items);
      cursor = page.nextCursor;
    }
    assert.deepEqual(walked, all.items);
  });

  test("are changed in what the form names and nothing else", async () => {
    const { clientId } = await create({ requestRate: 7 });
    const renamed = await session.change<ClientAnswer>(`clients/${clientId}/update`, { name: "Renamed" });
    assert.deepEqual([renamed.name, renamed.requestRate, renamed.grantTotal], ["Renamed", 7, 1]);
    const changed = await session.change<ClientAnswer>(`clients/${clientId}/update`, {
      requestRate: null,
      scopes: ["read", "groups:write"],
      addGrants: [{ clientCode: "BETA", propertyCode: "H1" }],
      removeGrants: GRANTS,
    });
    assert.equal(changed.requestRate, null);
    assert.deepEqual(changed.scopes, ["groups:write", "read"]);
    assert.deepEqual(changed.grants, [{ clientCode: "BETA", propertyCode: "H1" }]);
  });

  test("read null in optional fields as specified, or as absent if the form says so", async () => {
    const { clientId } = await create({});
    const shown = await session.read<ClientAnswer>(`clients/${clientId}`);
    assert.equal(shown.nulls, "specified");
    const changed = await session.change<ClientAnswer>(`clients/${clientId}/update`, {
      nulls: "absent",
      shown: { nulls: "specified" },
    });
    assert.equal(changed.nulls, "absent");
    const other = await create({ nulls: "absent" });
    assert.equal((await session.read<ClientAnswer>(`clients/${other.clientId}`)).nulls, "absent");
    const refused = await session.post(`clients/${clientId}/update`, { nulls: "ignored" });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /nulls must be specified or absent/);
  });

  test("are not changed in a field that is no longer as the form showed it", async () => {
    const { clientId } = await create({ requestRate: 7 });
    const update = (form: object) => session.post(`clients/${clientId}/update`, form);
    const shown = { scopes: ["read"], requestRate: 7 };
    assert.equal((await update({ scopes: ["read", "groups:write"], requestRate: 8, shown })).status, 200);
    const refused = await update({ scopes: ["read", "webhooks"], shown: { scopes: ["read"] } });
    assert.equal(refused.status, 409, refused.text);
    assert.match(refused.text, /Someone else changed this \(scopes\)/);
    for (const wrong of ["read", 7, null])
      assert.equal((await update({ name: "X", shown: wrong })).status, 422);
    const { name, scopes, requestRate } = await show(clientId);
    assert.deepEqual([name, scopes, requestRate], ["Made here", ["groups:write", "read"], 8]);
  });

  test("refuse invalid values with messages for the form", async () => {
    const bad: [object, RegExp][] = [
      [{ scopes: ["everything"] }, /Unknown scope "everything"/],
      [{ grants: [] }, /needs a grant/],
      [{ name: " " }, /1 to 200 characters/],
      [{ requestRate: -1 }, /whole number/],
      [{ requestRate: "7" }, /whole number/],
      [{ admin: true }, /"admin" is not known/],
      [{ replyToOrigins: ["https://a.example/path"] }, /not an origin/],
      [{ replyToOrigins: [`https://${"a.".repeat(150)}example`] }, /not an origin/],
      [{ secretExpiresSeconds: 5 }, /must be 1 hour to 730 days/],
      [{ grants: [{ clientCode: "A" }] }, /clientCode, propertyCode/],
    ];
    for (const [more, words] of bad) {
      const form = { name: "Bad", scopes: ["read"], grants: GRANTS, ...more };
      const answer = await session.post("clients", form);
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.json()["exception"], "bellhop.console.InvalidInput");
      assert.match(String(answer.json()["message"]), words);
    }
    const none = await session.get("clients/bhc_nobody");
    assert.equal(none.status, 404);
  });

  test("get a second secret while the old one stays valid, and a secret can be ended at once", async () => {
    const made = await create();
    const { clientId } = made;
    const rotated = await session.change<RotateSecretAnswer>(`clients/${clientId}/rotate`);
    assert.ok(rotated.previousExpiresAt);
    assert.deepEqual([await tokenStatus(made), await tokenStatus(rotated)], [200, 200]);
    const [old] = (await show(clientId)).secrets;
    const end = { createdAt: old?.createdAt };
    const ended = await session.change<ClientAnswer>(`clients/${clientId}/end-secret`, end);
    assert.deepEqual(
      ended.secrets.map(({ live }) => live),
      [false, true],
    );
    assert.deepEqual([await tokenStatus(made), await tokenStatus(rotated)], [401, 200]);
    assert.equal((await session.post(`clients/${clientId}/end-secret`, end)).status, 409);
    const leaked = await session.change<RotateSecretAnswer>(`clients/${clientId}/rotate`, {
      overlapSeconds: 0,
    });
    assert.deepEqual([await tokenStatus(rotated), await tokenStatus(leaked)], [401, 200]);
  });

  test("keep the secret that took the slot of the one to be ended", async () => {
    const { clientId } = await create();
    await session.change(`clients/${clientId}/rotate`);
    const [old] = (await show(clientId)).secrets;
    const newest = await session.change<RotateSecretAnswer>(`clients/${clientId}/rotate`);
    const { secrets } = await show(clientId);
    assert.equal(secrets.at(-1)?.slot, old?.slot);
    const refused = await session.post(`clients/${clientId}/end-secret`, { createdAt: old?.createdAt });
    assert.equal(refused.status, 409, refused.text);
    assert.match(refused.text, /has expired or was replaced/);
    assert.equal(await tokenStatus(newest), 200);
  });

  test("are disabled permanently after the id is confirmed", async () => {
    const made = await create();
    const path = `clients/${made.clientId}/disable`;
    assert.equal((await session.post(path, { confirm: "yes" })).status, 422);
    const disabled = await session.change<ClientAnswer>(path, { confirm: made.clientId });
    assert.ok(disabled.revokedAt);
    assert.equal(await tokenStatus(made), 401);
    assert.equal((await session.post(`clients/${made.clientId}/rotate`)).status, 422);
  });

  test("leave an audit entry for every change, with its author and without secrets", async () => {
    const { clientId } = await create();
    await session.change(`clients/${clientId}/update`, { name: "Watched" });
    await session.change(`clients/${clientId}/rotate`);
    await session.change(`clients/${clientId}/disable`, { confirm: clientId });
    const { items } = await session.read<Page<AuditItem>>(`audit?clientId=${clientId}`);
    assert.deepEqual(
      items.map(({ what, who }) => `${who} ${what}`),
      ["revoke-client", "rotate-secret", "update-client", "create-client"].map(
        (what) => `console:anna ${what}`,
      ),
    );
    const first = await session.read<Page<AuditItem>>(`audit?clientId=${clientId}&who=console:&limit=3`);
    const rest = await session.read<Page<AuditItem>>(
      `audit?clientId=${clientId}&who=console:&limit=3&cursor=${first.nextCursor}`,
    );
    assert.deepEqual([...first.items, ...rest.items], items);
    assert.deepEqual((await session.read<Page<AuditItem>>(`audit?clientId=${clientId}&who=cli:`)).items, []);
    assert.ok(items.every(({ clientName }) => clientName === "Watched"));
  });

  test("can be filtered in the audit by author, kind and time", async () => {
    const { clientId } = await create();
    await session.change(`clients/${clientId}/rotate`);
    await session.change(`clients/${clientId}/update`, { name: "Found" });
    const found = async (query: string) => {
      const { items } = await session.read<Page<AuditItem>>(`audit?clientId=${clientId}&${query}`);
      return items.map(({ what }) => what);
    };
    const all = ["update-client", "rotate-secret", "create-client"];
    assert.deepEqual(await found("who=console:anna"), all);
    assert.deepEqual(await found("who=console:ann"), []);
    assert.deepEqual(await found("who=console:"), all);
    assert.deepEqual(await found("what=secret"), ["rotate-secret"]);
    assert.deepEqual(await found("what=client"), ["update-client", "create-client"]);
    // A day apart each.
    await service.pool.query(
      `update bellhop.audit_entry of set occurred_at = timestamptz '2020-01-01T12:00:00Z' + place.days * interval '1 day'
      from (
        select audit_id, row_number() over (order by audit_id) - 1 as days from bellhop.audit_entry where client_id = $1
      ) as place where place.audit_id = of.audit_id`,
      [clientId],
    );
    assert.deepEqual(await found("from=2020-01-02T00:00:00Z&to=2020-01-02T23:59:59Z"), ["rotate-secret"]);
    assert.deepEqual(await found("to=2020-01-01T12:00:00Z"), ["create-client"]);
    assert.deepEqual(await found("from=2020-01-03T12:00:00Z"), ["update-client"]);
    assert.equal((await session.get("audit?from=2020-01-02T00:00:00Z&to=2020-01-01T00:00:00Z")).status, 400);
  });
});

describe("settings and statuses", () => {
  const holding = ({ settings }: SettingsAnswer, name: string) => {
    const found = settings.find((setting) => setting.name === name);
    return [found?.value, found?.from];
  };

  test("apply to a client code or a property, raise the version, and can be removed", async () => {
    const before = await session.read<SettingsAnswer>("settings?clientCode=ACME");
    assert.deepEqual(holding(before, "timeZone"), ["UTC", "default"]);
    const zone = { clientCode: "ACME", name: "timeZone" };
    const set = await session.change<SettingsAnswer>("settings/set", { ...zone, value: "Europe/Lisbon" });
    assert.deepEqual(holding(set, "timeZone"), ["Europe/Lisbon", "client"]);
    assert.ok(set.settingsVersion > before.settingsVersion);
    const own = { ...zone, propertyCode: "LIS01" };
    await session.change("settings/set", { ...own, value: "Atlantic/Azores" });
    const of = await session.read<SettingsAnswer>("settings?clientCode=ACME&propertyCode=LIS01");
    assert.deepEqual(holding(of, "timeZone"), ["Atlantic/Azores", "property"]);
    const back = await session.change<SettingsAnswer>("settings/unset", own);
    assert.deepEqual(holding(back, "timeZone"), ["Europe/Lisbon", "client"]);
    const bad = await session.post("settings/set", { ...zone, value: "Moon" });
    assert.equal(bad.status, 422);
    assert.match(String(bad.json()["message"]), /IANA time zone/);
    assert.equal((await session.post("settings/set", { ...zone, name: "colour", value: "red" })).status, 422);
    const { items } = await session.read<Page<AuditItem>>("audit?limit=3");
    assert.deepEqual(
      items.map(({ what }) => what),
      ["unset-setting", "set-setting", "set-setting"],
    );
  });

  test("map a hotel's own status, and restore the default", async () => {
    await apply(service, "reservations", [
      reservation("w1", "2026-01-01T00:00:00Z", { status: "WALK IN" }),
      reservation("w2", "2026-01-01T00:00:00Z", { status: "Confirmed" }),
    ]);
    const meaning = ({ items }: StatusesAnswer, status: string) => {
      const found = items.find((item) => item.status === status);
      return [found?.records, found?.deducts, found?.by];
    };
    const before = await session.read<StatusesAnswer>("statuses?clientCode=ACME");
    assert.deepEqual(meaning(before, "WALK IN"), [1, false, "unmapped"]);
    assert.deepEqual(meaning(before, "Confirmed"), [1, true, "default"]);
    const walkIn = { clientCode: "ACME", resource: "reservations", status: "WALK IN" };
    const pages: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await session.read<StatusesAnswer>(`statuses?clientCode=ACME&limit=1${next}`);
      assert.deepEqual(page.unmapped, { statuses: 1, records: 1 });
      pages.push(...page.items.map(({ status }) => status));
      cursor = page.nextCursor;
    }
    assert.deepEqual(
      pages,
      before.items.map(({ status }) => status),
    );
    assert.ok(pages.length > 1);
    const unmapped = await session.read<StatusesAnswer>("statuses?clientCode=ACME&by=unmapped");
    assert.deepEqual(
      unmapped.items.map(({ status }) => status),
      ["WALK IN"],
    );
    const foreseen = await session.read(`statuses/foresee?${new URLSearchParams(walkIn)}`);
    assert.deepEqual(foreseen, { records: 1, properties: 1, nights: 3, isCut: false });
    const set = await session.change<StatusesAnswer>("statuses/set", {
      ...walkIn,
      deducts: true,
    });
    assert.deepEqual(meaning(set, "WALK IN"), [1, true, "mapping"]);
    const unset = await session.change<StatusesAnswer>("statuses/unset", walkIn);
    assert.deepEqual(meaning(unset, "WALK IN"), [1, false, "unmapped"]);
    assert.equal((await session.post("statuses/set", walkIn)).status, 422);
    assert.equal(
      (await session.post("statuses/set", { ...walkIn, resource: "rates", deducts: true })).status,
      422,
    );
  });
});
