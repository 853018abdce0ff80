import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { openCertification } from "../../src/certification/certification.ts";
import type { CertificationAnswer } from "../../src/certification/console-answers.ts";
import { addSubscription } from "../../src/delivery/subscription.ts";
import type { AuditItem, ClientAnswer, OperatorsAnswer } from "../../src/identity/console-answers.ts";
import {
  createOperator,
  removeOperator,
  setOperatorPassword,
  setOperatorRights,
} from "../../src/identity/operators.ts";
import { isAllowed, type Permission, permissionsOf, ROLES, type Role } from "../../src/identity/roles.ts";
import type { AttentionAnswer, IntakeAnswer, SearchAnswer } from "../../src/insight/console/answers.ts";
import type { Page } from "../../src/platform/http/answers.ts";
import { Semaphore, SemaphoreFull } from "../../src/platform/runtime/semaphore.ts";
import type { RequestAnswer, RequestItem } from "../../src/query/console/answers.ts";
import { consoleRoutes } from "../hostile/flood-routes.ts";
import { asBackfill, post } from "../support/backfill-fixture.ts";
import { addOperator, type ConsoleSession, logIn, logInAsNew, PASSWORD } from "../support/console-session.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { RawConnection } from "../support/raw-http.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { type Answer, startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const FUTURE = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, "");
const PAST = "2026-01-01T00:00:00Z";

/** A client code with one of everything that the console shows, and who may see it. */
interface Tenant {
  readonly code: string;
  readonly client: TestClient;
  readonly admin: ConsoleSession;
  readonly operator: string;
  readonly requestId: string;
  readonly quarantinedId: string;
  readonly endpointId: string;
  readonly backfillId: string;
  readonly certificationId: string;
  readonly subscriptionId: string;
  /** Kept in the console. */
  readonly messageId: string;
}

let service: TestService;
let everything: ConsoleSession;
const tenants: Tenant[] = [];
let mixedId: string;

async function makeTenant(code: string): Promise<Tenant> {
  const grants = [{ clientCode: code, propertyCode: "*" }];
  const client = await service.newClient({ name: `Partner of ${code}`, grants });
  const of = (id: string, at = PAST) => ({ ...reservation(id, at), clientCode: code });
  const sentBy = { as: client };
  const requestId = await apply(service, "reservations", [of(`${code}-1`)], sentBy);
  const quarantinedId = await apply(service, "reservations", [of(`${code}-2`, FUTURE)], sentBy);
  const manifest = {
    clientCode: code,
    propertyCode: "LIS01",
    resources: [{ resource: "reservations", from: "2026-01-01", to: "2026-01-31" }],
  };
  const { backfillId } = asBackfill(await post(service, "", manifest, sentBy));
  const body = { url: `https://partner.invalid/${code}`, events: ["request.applied"] };
  const webhook = await service.send("POST", "/api/public/v1/webhooks", { ...sentBy, body });
  const endpointId = String(webhook.json()["endpointId"]);
  const certifier = { internals: service.service.authenticator.internals, who: "cli:test" };
  const { certificationId } = await openCertification(certifier, client.clientId);
  const operator = `admin-${code.toLowerCase()}`;
  const admin = await logInAsNew(service, operator, { role: "admin", grants: [`${code}/*`] });
  const subscription = await subscribe(operator, code);
  return {
    code,
    client,
    admin,
    operator,
    requestId,
    quarantinedId,
    endpointId,
    backfillId,
    certificationId,
    ...subscription,
  };
}

/** A subscription with a message that is kept in the console. */
async function subscribe(operator: string, clientCode: string) {
  const { pool } = service;
  const input = { kind: "report", clientCode, propertyCode: "LIS01", localTime: "07:00" };
  const subscriptionId = await addSubscription({ pool, who: "cli:test" }, operator, input);
  const messageId = randomUUID();
  await pool.query(
    "insert into bellhop.subscription_message (message_id, subscription_id, occasion, state, body_html) values ($1, $2, 'report:2026-07-01', 'kept', $3)",
    [messageId, subscriptionId, `<p>The report of ${clientCode}</p>`],
  );
  return { subscriptionId, messageId };
}

before(async () => {
  service = await startTestService();
  everything = await logInAsNew(service, "all");
  for (const code of ["FIRST", "SECOND"]) tenants.push(await makeTenant(code));
  const both = await service.newClient({
    name: "Sends for both",
    grants: tenants.map(({ code }) => ({ clientCode: code, propertyCode: "*" })),
  });
  const records = [
    { ...reservation("M-1", PAST), clientCode: "FIRST" },
    { ...reservation("M-2", PAST), clientCode: "SECOND" },
    { ...reservation("M-3", FUTURE), clientCode: "SECOND" },
  ];
  mixedId = await apply(service, "reservations", records, { as: both });
});
after(() => service.stop());

/** What a route is asked about a tenant: the query of a question, or the form of a change. */
type Ask = (tenant: Tenant) => { readonly query?: Record<string, string>; readonly form?: object };

const property = ({ code }: Tenant) => ({ clientCode: code, propertyCode: "LIS01" });
const nights = { from: "2026-07-01", to: "2026-07-31" };
const insight: Ask = (tenant) => ({ query: { ...property(tenant), ...nights } });
const nothing: Ask = () => ({});
const form =
  (of: (tenant: Tenant) => object): Ask =>
  (tenant) => ({ form: of(tenant) });

/** Questions whose answer is a list of what is within the scope; all others are about one thing, which is there or is not. */
const LISTS: Readonly<Record<string, Ask>> = {
  "GET attention": nothing,
  "GET search": nothing,
  "GET intake": nothing,
  "GET requests": nothing,
  "GET portfolio": nothing,
  "GET portfolio-report": nothing,
  "GET client-codes": nothing,
  "GET quarantine": nothing,
  "GET backfills": nothing,
  "GET certifications": nothing,
  "GET clients": nothing,
  "GET webhooks": nothing,
  "GET subscriptions": nothing,
  "GET audit": nothing,
  "GET operators": nothing,
};

const ONES: Readonly<Record<string, Ask>> = {
  "GET requests/{requestId}": nothing,
  "GET requests/{requestId}/records/{index}": nothing,
  "GET calendar": insight,
  "GET history": (tenant) => ({
    query: { ...property(tenant), resource: "reservations", key: `${tenant.code}-1` },
  }),
  "GET quarantine/{requestId}/{index}": nothing,
  "POST quarantine/release": form(({ quarantinedId }) => ({ records: [`${quarantinedId}/0`] })),
  "POST quarantine/discard": form(({ quarantinedId }) => ({
    records: [`${quarantinedId}/0`],
    reason: "not ours",
  })),
  "GET backfills/{backfillId}": nothing,
  "GET backfills/{backfillId}/gaps": nothing,
  "POST backfills/{backfillId}/sign": form(() => ({ hash: "0".repeat(64) })),
  "POST backfills/{backfillId}/abandon": form(() => ({ why: "not ours" })),
  "GET certifications/{certificationId}": nothing,
  "GET certifications/{certificationId}/report": nothing,
  "POST certifications": form(({ client }) => ({ clientId: client.clientId })),
  "POST certifications/{certificationId}/end": nothing,
  "GET clients/{clientId}": nothing,
  "POST clients/{clientId}/rotate": nothing,
  "POST clients/{clientId}/update": form(() => ({ name: "Taken over" })),
  "POST clients/{clientId}/end-secret": form(() => ({ createdAt: PAST })),
  "POST clients/{clientId}/disable": form(({ client }) => ({ confirm: client.clientId })),
  "GET settings": (tenant) => ({ query: property(tenant) }),
  "GET statuses": ({ code }) => ({ query: { clientCode: code } }),
  "POST settings/set": form((tenant) => ({ ...property(tenant), name: "currency", value: "EUR" })),
  "POST settings/unset": form((tenant) => ({ ...property(tenant), name: "currency" })),
  "GET statuses/foresee": ({ code }) => ({
    query: { clientCode: code, resource: "reservations", status: "CONFIRMED" },
  }),
  "POST statuses/set": form(({ code }) => ({
    clientCode: code,
    resource: "reservations",
    status: "HELD",
    deducts: true,
  })),
  "POST statuses/unset": form(({ code }) => ({
    clientCode: code,
    resource: "reservations",
    status: "HELD",
  })),
  "GET webhooks/{endpointId}": nothing,
  "POST webhooks": form(({ client }) => ({
    clientId: client.clientId,
    url: "https://elsewhere.invalid/",
    events: ["request.applied"],
  })),
  "POST webhooks/{endpointId}/pause": nothing,
  "POST webhooks/{endpointId}/resume": nothing,
  "POST webhooks/{endpointId}/test": nothing,
  "POST webhooks/{endpointId}/redrive": nothing,
  "POST webhooks/{endpointId}/rotate": nothing,
  "POST webhooks/{endpointId}/remove": nothing,
  "GET subscriptions/messages/{messageId}": nothing,
  "POST subscriptions": form(({ code }) => ({ kind: "alerts", clientCode: code, conditions: ["silent"] })),
  "POST subscriptions/{subscriptionId}/pause": nothing,
  "POST subscriptions/{subscriptionId}/resume": nothing,
  "POST subscriptions/{subscriptionId}/test": nothing,
  "POST subscriptions/{subscriptionId}/remove": nothing,
  "POST operators/{name}/set": form(() => ({ role: "viewer" })),
  "POST operators/{name}/password": nothing,
  "POST operators/{name}/account": nothing,
  "POST operators/{name}/reset-totp": nothing,
  "POST operators/{name}/disable": nothing,
  "POST operators/{name}/enable": nothing,
  "POST operators/{name}/remove": nothing,
  "GET insight/on-the-books": insight,
  "GET insight/pickup": (tenant) => ({ query: { ...property(tenant), ...nights, since: PAST } }),
  "GET insight/pace": (tenant) => ({ query: { ...property(tenant), ...nights, daysBefore: "30" } }),
  "GET insight/movements": insight,
  "GET insight/daily-report": insight,
  "GET insight/blocks": insight,
  "GET insight/reconciliation": insight,
  "GET insight/reconciliation/night": (tenant) => ({
    query: { ...property(tenant), stayDate: "2026-07-14" },
  }),
  "GET insight/feed-health": (tenant) => ({ query: property(tenant) }),
};

/** Routes that have nothing of a tenant until one is named: their own tests are below. */
const OF_NOBODY = new Set([
  "GET session",
  "POST login",
  "POST logout",
  "POST password",
  "POST totp/begin",
  "POST totp/confirm",
  "POST totp/disable",
  "GET client-options",
  "POST clients",
  "POST operators",
]);

async function routes() {
  return (await consoleRoutes()).map(({ method, path, permission }) => {
    const short = path.replace("/console/api/", "");
    return { name: `${method} ${short}`, method, path: short, permission };
  });
}

/** Asks a route about what is of a tenant. */
function askAbout(session: ConsoleSession, method: string, path: string, tenant: Tenant, ask: Ask = nothing) {
  const requestId = path.startsWith("quarantine") ? tenant.quarantinedId : tenant.requestId;
  const { clientId } = tenant.client;
  const { endpointId, backfillId, certificationId, subscriptionId, messageId, operator: name } = tenant;
  const ids: Readonly<Record<string, string>> = {
    requestId,
    index: "0",
    clientId,
    endpointId,
    backfillId,
    certificationId,
    subscriptionId,
    messageId,
    name,
  };
  const { query = {}, form: body = {} } = ask(tenant);
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
  return method === "GET"
    ? session.get(`${address}?${new URLSearchParams(query)}`)
    : session.post(address, body);
}

const pair = () => tenants as [Tenant, Tenant];

describe("roles", () => {
  test("every route of the console declares a permission, and is in the tables of this test", async () => {
    const all = await routes();
    for (const { name, permission } of all) {
      assert.ok(permission === "public" || permissionsOf("admin").includes(permission as Permission), name);
      assert.ok(OF_NOBODY.has(name) || name in LISTS || name in ONES, `${name} is not tried below`);
    }
    const open = all.filter(({ permission }) => permission === "public").map(({ name }) => name);
    assert.deepEqual(open, ["GET session", "POST login"]);
    assert.equal(all.length, OF_NOBODY.size + Object.keys(LISTS).length + Object.keys(ONES).length);
  });

  test("a role is refused with 403 whatever it lacks, and nothing else", async () => {
    const [tenant] = pair();
    for (const role of ROLES) {
      const session = await logInAsNew(service, `only-${role}`, { role, grants: ["NOBODY/*"] });
      for (const { name, method, path, permission } of await routes()) {
        if (permission === "public" || name === "POST logout") continue;
        const answer = await askAbout(session, method, path, tenant, LISTS[name] ?? ONES[name]);
        const allowed = isAllowed(role, permission as Permission);
        assert.equal(answer.status === 403, !allowed, `${role}: ${name} ${answer.status} ${answer.text}`);
        if (!allowed) assert.match(answer.text, /bellhop\.console\.NotAllowed/);
      }
    }
  });

  test("a change of role or grants is in effect with the next request, and a removed operator is out at once", async () => {
    const admin = { pool: service.pool, who: "cli:test" };
    const session = await logInAsNew(service, "changing", { role: "admin", grants: ["FIRST/*"] });
    assert.equal((await session.get("audit")).status, 200);
    await setOperatorRights(admin, "changing", { role: "viewer" satisfies Role });
    assert.equal((await session.get("audit")).status, 403);
    assert.equal(
      (await session.get("calendar?clientCode=FIRST&propertyCode=LIS01&from=2026-07-01&to=2026-07-02"))
        .status,
      200,
    );
    await setOperatorRights(admin, "changing", { grants: ["SECOND/*"] });
    assert.equal(
      (await session.get("calendar?clientCode=FIRST&propertyCode=LIS01&from=2026-07-01&to=2026-07-02"))
        .status,
      404,
    );
    await removeOperator(admin, "changing");
    assert.equal((await session.get("requests")).status, 401);
  });
});

/** Has changes wait for the lock of a statement until each of them does, and commits it then. */
async function whileChanging(
  [statement, values]: readonly [string, unknown[]?],
  waiting: string,
  change: () => readonly Promise<Answer>[],
): Promise<Answer[]> {
  const locking = await service.pool.connect();
  await locking.query("begin");
  await locking.query(statement, values);
  const answers = change();
  try {
    await until(async () => (await waitingForLock(service.pool, waiting)) === answers.length, 10_000);
  } finally {
    await locking.query("commit");
    locking.release();
  }
  return Promise.all(answers);
}

describe("operators", () => {
  test("of two admins who disable each other concurrently, one stays", async () => {
    const names = ["duel-one", "duel-two"];
    const sessions: ConsoleSession[] = [];
    for (const name of names) sessions.push(await logInAsNew(service, name));
    const locked = "select from bellhop.operator where name = any ($1) for update";
    const answers = await whileChanging([locked, [names]], "%bellhop.operator%", () =>
      sessions.map((session, at) => session.post(`operators/${names[1 - at]}/disable`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403]);
    const { rows } = await service.pool.query(
      "select from bellhop.operator where name = any ($1) and disabled_at is null",
      [names],
    );
    assert.equal(rows.length, 1);
  });

  test("an operator who concurrently gets more properties is not found for an admin of some", async () => {
    const [{ admin }] = pair();
    await addOperator(service, "grows", { role: "viewer", grants: ["FIRST/LIS01"] });
    const hash = async () =>
      (await service.pool.query("select password_hash from bellhop.operator where name = 'grows'")).rows;
    const before = await hash();
    const grown = "update bellhop.operator set role = 'admin', grants = '{*/*}' where name = 'grows'";
    const [given] = await whileChanging([grown], "%bellhop.operator%", () => [
      admin.post("operators/grows/password"),
    ]);
    assert.equal(given?.status, 404, given?.text);
    assert.deepEqual(await hash(), before);
  });

  test("an admin who concurrently loses properties cannot grant them", async () => {
    await addOperator(service, "desk-clerk", { role: "viewer", grants: ["SECOND/LIS01"] });
    const admin = await logInAsNew(service, "shrinks");
    const shrunk = "update bellhop.operator set grants = '{SECOND/*}' where name = 'shrinks'";
    const answers = await whileChanging([shrunk], "%bellhop.operator%", () => [
      admin.post("operators/desk-clerk/set", { grants: ["FIRST/LIS01"] }),
      admin.post("operators", { name: "new-clerk", role: "viewer", grants: ["FIRST/LIS01"] }),
    ]);
    for (const { status, text } of answers) {
      assert.equal(status, 422, text);
      assert.match(text, /only your own properties: SECOND/);
    }
    const { items } = await everything.read<OperatorsAnswer>("operators");
    assert.deepEqual(items.find(({ name }) => name === "desk-clerk")?.grants, ["SECOND/LIS01"]);
    assert.ok(!items.some(({ name }) => name === "new-clerk"));
  });

  test("the audit shows an admin no codes of grants that are outside theirs", async () => {
    const [{ admin, code }, { code: foreign }] = pair();
    const grants = [code, foreign].map((clientCode) => ({ clientCode, propertyCode: "LIS01" }));
    const { clientId } = await everything.change<{ clientId: string }>("clients", {
      name: "Once of both",
      scopes: ["read"],
      grants,
    });
    const removed = grants.slice(1);
    await everything.change(`clients/${clientId}/update`, { removeGrants: removed });
    await everything.change("operators", {
      name: "once-of-both",
      role: "viewer",
      grants: [code, foreign].map((one) => `${one}/LIS01`),
    });
    await everything.change("operators/once-of-both/set", { grants: [`${code}/LIS01`] });
    const detailsOf = async (by: ConsoleSession) =>
      (await by.read<Page<AuditItem>>("audit?limit=20")).items
        .filter((item) => item.clientId === clientId || item.detail["operator"] === "once-of-both")
        .map(({ what, detail }) => [what, JSON.stringify(detail)] as const);
    const seen = await detailsOf(admin);
    assert.deepEqual(
      seen.map(([what]) => what),
      ["set-operator-rights", "create-operator", "update-client", "create-client"],
    );
    for (const [what, detail] of seen) assert.ok(!detail.includes(foreign), `${what}: ${detail}`);
    for (const at of [1, 2, 3]) assert.match(seen[at]?.[1] ?? "", /"and 1 outside your properties"/);
    assert.match(seen[3]?.[1] ?? "", RegExp(code));
    for (const [what, detail] of (await detailsOf(everything)).slice(1))
      assert.match(detail, RegExp(foreign), what);
  });

  test("a reused name does not inherit the audit entries of its previous owner", async () => {
    const [{ admin }] = pair();
    const who = { pool: service.pool, who: "cli:test" };
    await logInAsNew(service, "twice");
    await removeOperator(who, "twice");
    const seen = async () =>
      (await admin.read<Page<AuditItem>>("audit?who=console:twice")).items.map(({ what }) => what);
    await createOperator(who, "twice", PASSWORD, { role: "viewer", grants: ["FIRST/LIS01"] });
    assert.deepEqual(await seen(), []);
    await logIn(service, "twice");
    assert.deepEqual(await seen(), ["log-in"]);
  });
});

describe("two tenants", () => {
  test("see nothing of each other in any list", async () => {
    const [first, second] = pair();
    for (const { name, method, path } of await routes()) {
      if (!(name in LISTS)) continue;
      for (const [one, other] of [
        [first, second],
        [second, first],
      ] as const) {
        const { status, text } = await askAbout(one.admin, method, path, one, LISTS[name]);
        assert.equal(status, 200, `${name} ${text}`);
        if (!["GET attention", "GET intake", "GET operators"].includes(name))
          assert.match(text, RegExp(one.code), name);
        const { client, admin: _, ...ids } = other;
        for (const foreign of [client.clientId, ...Object.values(ids)])
          assert.ok(!text.includes(foreign), `${name}: ${foreign} in ${text}`);
      }
    }
  });

  test("find nothing of each other, by codes, ids and names", async () => {
    const [first, second] = pair();
    const find = (session: ConsoleSession, text: string) =>
      session.read<SearchAnswer>(`search?${new URLSearchParams({ text })}`);
    const nothingOf = { properties: [], propertyTotal: 0, clients: [], requests: [], records: [] };
    const { client, requestId, code } = second;
    for (const text of [code, `Partner of ${code}`, client.clientId, requestId, `${code}-1`]) {
      assert.deepEqual(await find(first.admin, text), nothingOf, text);
      const own = await find(second.admin, text);
      assert.notDeepEqual(own, nothingOf, text);
      assert.deepEqual(await find(everything, text), own);
    }
    const viewer = await logInAsNew(service, "only-looks", { role: "viewer", grants: [`${code}/*`] });
    assert.deepEqual((await find(viewer, `Partner of ${code}`)).clients, []);
    assert.deepEqual((await find(viewer, `${code}-1`)).records, [
      { ...property(second), resource: "reservations", key: `${code}-1` },
    ]);
  });

  test("get 404 for other clients' data and change none of it, but reach their own", async () => {
    const [first, second] = pair();
    const before = await service.pool.query("select max(audit_id) as last from bellhop.audit_entry");
    for (const { name, method, path } of await routes()) {
      if (!(name in ONES)) continue;
      const foreign = await askAbout(first.admin, method, path, second, ONES[name]);
      assert.equal(foreign.status, 404, `${name} ${foreign.text}`);
    }
    const { rows } = await service.pool.query(
      "select who, what from bellhop.audit_entry where audit_id > $1",
      [before.rows[0].last],
    );
    assert.deepEqual(rows, []);
    for (const { name, method, path } of await routes()) {
      if (!(name in ONES) || method !== "GET") continue;
      const own = await askAbout(second.admin, method, path, second, ONES[name]);
      assert.equal(own.status, 200, `${name} ${own.text}`);
    }
  });

  test("a client that is granted more at the same moment is not there for an admin of a part", async () => {
    const [{ admin }, second] = pair();
    const grants = [{ clientCode: "FIRST", propertyCode: "*" }];
    const { clientId } = await service.newClient({ name: "Grows", grants });
    const internals = service.service.authenticator.internals;
    const { certificationId } = await openCertification({ internals, who: "cli:test" }, clientId);
    const webhook = { clientId, url: "https://partner.invalid/grows", events: ["request.applied"] };
    const created = await admin.post("webhooks", webhook);
    const { endpointId } = JSON.parse(created.text) as { endpointId: string };
    const granted = `with epoch as (update bellhop.auth_epoch set epoch = epoch + 1),
        client as (update bellhop.client set changed_epoch = changed_epoch where client_id = $1)
      insert into bellhop.client_grant (client_id, client_code, property_code) values ($1, $2, '*')`;
    const before = await everything.read<ClientAnswer>(`clients/${clientId}`);
    const whileGranted = (change: () => readonly Promise<Answer>[]) =>
      whileChanging([granted, [clientId, second.code]], "%bellhop.%", change);
    const answers = await whileGranted(() => [
      admin.post(`clients/${clientId}/rotate`),
      admin.post(`clients/${clientId}/update`, { name: "Taken over" }),
      admin.post("certifications", { clientId }),
    ]);
    await service.pool.query(
      "delete from bellhop.client_grant where client_code <> 'FIRST' and client_id = $1",
      [clientId],
    );
    const others = await whileGranted(() => [
      admin.post(`certifications/${certificationId}/end`),
      admin.post("webhooks", webhook),
      admin.post(`webhooks/${endpointId}/pause`, { reason: "mine" }),
      admin.post(`webhooks/${endpointId}/rotate`),
    ]);
    for (const { status, text } of [...answers, ...others]) assert.equal(status, 404, text);
    const { name, secrets } = await everything.read<ClientAnswer>(`clients/${clientId}`);
    assert.deepEqual([name, secrets], ["Grows", before.secrets]);
  });

  test("of a shared batch, each sees only its own records and counts", async () => {
    const [first, second] = pair();
    const whole = await everything.read<RequestAnswer>(`requests/${mixedId}?records=all`);
    assert.equal(whole.counts.records, 3);
    for (const [{ admin, code }, keys, quarantined] of [
      [first, ["M-1"], 0],
      [second, ["M-2", "M-3"], 1],
    ] as const) {
      const seen = await admin.read<RequestAnswer>(`requests/${mixedId}?records=all`);
      assert.deepEqual(
        seen.records.map(({ key }) => key),
        keys,
      );
      assert.equal(seen.counts.records, keys.length);
      assert.equal(seen.counts.quarantined, quarantined);
      const found = await admin.read<Page<RequestItem>>("requests?outcome=quarantined");
      assert.equal(
        found.items.some(({ requestId }) => requestId === mixedId),
        quarantined > 0,
        code,
      );
      const intake = await admin.read<IntakeAnswer>("intake");
      assert.equal(intake.quarantined, 1 + quarantined);
      assert.deepEqual(await admin.read<AttentionAnswer>("attention"), {
        quarantined: 1 + quarantined,
        silent: 0,
      });
      const total = intake.minutes.reduce(
        (sum, { resources }) => sum + (resources?.reservations.records ?? 0),
        0,
      );
      assert.equal(total, 2 + keys.length);
    }
    assert.equal((await first.admin.get(`requests/${mixedId}/records/1`)).status, 404);
    assert.equal((await second.admin.get(`requests/${mixedId}/records/1`)).status, 200);
  });

  test("of a certification, each sees only the records of their own properties", async () => {
    const [first, second] = pair();
    const grants = [first, second].map(({ code }) => ({ clientCode: code, propertyCode: "*" }));
    const client = await service.newClient({ name: "Sent for both", grants });
    const internals = service.service.authenticator.internals;
    const { certificationId } = await openCertification({ internals, who: "cli:test" }, client.clientId);
    for (const { code } of [first, second]) {
      const cancelled = { ...reservation(`CANCELLED-${code}`, PAST), clientCode: code, status: "Cancelled" };
      await apply(service, "reservations", [cancelled], { as: client });
    }
    await everything.change(`clients/${client.clientId}/update`, { removeGrants: grants.slice(1) });
    const path = `certifications/${certificationId}`;
    const whole = await everything.read<CertificationAnswer>(path);
    const seen = await first.admin.read<CertificationAnswer>(path);
    assert.deepEqual(
      [whole, seen].map(({ observed }) => [observed.batches, observed.records]),
      [
        [2, 2],
        [1, 1],
      ],
    );
    const report = await first.admin.get(`${path}/report`);
    for (const text of [JSON.stringify(seen), report.text]) {
      assert.match(text, /CANCELLED-FIRST/);
      assert.doesNotMatch(text, /CANCELLED-SECOND/);
    }
    assert.match(JSON.stringify(whole), /CANCELLED-SECOND|And 1 more like it/);
  });

  test("a certification lifts no limit of a client, unless an operator of everything opens it", async () => {
    const [first] = pair();
    const { clientId } = await service.newClient({
      name: "Limited",
      grants: [{ clientCode: first.code, propertyCode: "*" }],
    });
    const own = { requestRate: 2, requestBurst: 3, tokenBurst: 1 };
    await everything.change(`clients/${clientId}/update`, own);
    const limitsBy = async (session: ConsoleSession) => {
      await session.change("certifications", { clientId });
      const { rows } = await service.pool.query(
        `select request_rate as "requestRate", request_burst as "requestBurst", token_burst as "tokenBurst"
        from bellhop.certification where client_id = $1 order by opened_at desc limit 1`,
        [clientId],
      );
      return rows[0];
    };
    assert.deepEqual(await limitsBy(first.admin), own);
    assert.deepEqual(await limitsBy(everything), { requestRate: 5, requestBurst: 20, tokenBurst: 100 });
  });

  test("no admin gives what the admin has not, nor changes themselves", async () => {
    const [first, second] = pair();
    const grants = [{ clientCode: second.code, propertyCode: "*" }];
    const refused: [string, object][] = [
      ["clients", { name: "Mine", scopes: ["read"], grants }],
      ["clients", { name: "Nobody's yet", scopes: ["read"], grants: [] }],
      [
        "clients",
        {
          name: "Fast",
          scopes: ["read"],
          grants: [{ clientCode: "FIRST", propertyCode: "*" }],
          requestRate: 1e6,
        },
      ],
      [`clients/${first.client.clientId}/update`, { addGrants: grants }],
      [`clients/${first.client.clientId}/update`, { requestBurst: 1_000_000 }],
      ["operators", { name: "spy", role: "viewer", grants: ["SECOND/LIS01"] }],
      ["operators", { name: "spy", role: "admin", grants: ["*/*"] }],
      ["operators", { name: "spy", role: "root", grants: ["FIRST/*"] }],
    ];
    for (const [path, body] of refused) {
      const answer = await first.admin.post(path, body);
      assert.equal(answer.status, 422, `${path} ${answer.text}`);
    }
    for (const verb of ["set", "disable", "remove", "password"]) {
      const answer = await first.admin.post(
        `operators/${first.operator}/${verb}`,
        verb === "set" ? { role: "viewer" } : {},
      );
      assert.equal(answer.status, 409, answer.text);
    }
    const made = await first.admin.post("operators", {
      name: "desk",
      role: "viewer",
      grants: ["FIRST/LIS01"],
    });
    assert.equal(made.status, 200, made.text);
    const wider = await first.admin.post("operators/desk/set", { grants: ["FIRST/LIS01", "SECOND/*"] });
    assert.equal(wider.status, 422, wider.text);
    assert.equal((await second.admin.post("operators/desk/remove")).status, 404);
  });

  test("an email address is one operator's, and another is refused so", async () => {
    const [first] = pair();
    const rights = { role: "viewer", grants: ["FIRST/*"] };
    for (const name of ["mail-one", "mail-two"])
      await first.admin.change("operators", { ...rights, name, email: `${name}@hotel.example` });
    const taken = await first.admin.post("operators/mail-two/account", { email: "Mail-One@hotel.example" });
    assert.equal(taken.status, 422, taken.text);
    assert.match(taken.text, /Another operator already has this account/);
  });

  test("a new password is hashed in turn with those of logins", async () => {
    await addOperator(service, "rehashed", { role: "viewer", grants: ["FIRST/*"] });
    const hashing = new Semaphore(1, 0);
    const admin = { pool: service.pool, who: "cli:test", hashing };
    await hashing.run(async () => {
      await assert.rejects(setOperatorPassword(admin, "rehashed", PASSWORD), SemaphoreFull);
      const rights = { role: "viewer", grants: ["FIRST/*"] } as const;
      await assert.rejects(createOperator(admin, "not-hashed", PASSWORD, rights), SemaphoreFull);
    });
    await setOperatorPassword(admin, "rehashed", PASSWORD);
  });

  test("the audit names the author's role at that time", async () => {
    const [first] = pair();
    await first.admin.change("settings/set", { ...property(first), name: "currency", value: "EUR" });
    const { items } = await first.admin.read<Page<AuditItem>>("audit?limit=1");
    assert.deepEqual(
      [items[0]?.who, items[0]?.role, items[0]?.what],
      [`console:${first.operator}`, "admin", "set-setting"],
    );
  });
});

const SETTING = { clientCode: "FIRST", name: "timeZone", value: "UTC" };

describe("a change whose body takes long", () => {
  /** Begins a change and resolves once its session was checked and a part of its body received. */
  async function begin(session: ConsoleSession) {
    const connection = await RawConnection.open(service.address);
    const body = JSON.stringify(SETTING);
    const lines = [
      "POST /console/api/settings/set HTTP/1.1",
      `Host: ${new URL(service.address).host}`,
      "Content-Type: application/json",
      `Cookie: ${session.cookie}`,
      `X-Bellhop-Csrf: ${session.csrfToken}`,
      `Content-Length: ${body.length}`,
    ];
    connection.write(`${lines.join("\r\n")}\r\n\r\n${body.slice(0, 10)}`);
    await until(async () => !(await service.get("/metrics", { as: null })).text.includes(NOTHING), 10_000);
    return async () => {
      connection.write(body.slice(10));
      const { status } = await connection.answer();
      connection.destroy();
      return status;
    };
  }
  const NOTHING = "\nbellhop_body_bytes_in_flight 0\n";

  test("is refused if the operator lost the role or was removed meanwhile", async () => {
    const admin = { pool: service.pool, who: "cli:test" };
    const session = await logInAsNew(service, "slow", { role: "admin", grants: ["FIRST/*"] });
    const demoted = await begin(session);
    await setOperatorRights(admin, "slow", { role: "viewer" satisfies Role });
    assert.equal(await demoted(), 403);
    await setOperatorRights(admin, "slow", { role: "admin", grants: ["SECOND/*"] });
    const moved = await begin(session);
    await setOperatorRights(admin, "slow", { grants: ["FIRST/*"] });
    assert.equal(await moved(), 200);
    const removed = await begin(session);
    await removeOperator(admin, "slow");
    assert.equal(await removed(), 401);
  });
});

describe("many questions of one operator", () => {
  test("are refused beyond a bound, and leave another's questions a turn and changes unaffected", async () => {
    const viewer = await logInAsNew(service, "asking", { role: "viewer", grants: ["*/*"] });
    const locking = await service.pool.connect();
    const statuses: number[] = [];
    const refused = () => statuses.filter((status) => status === 503).length;
    await locking.query("begin; lock table bellhop.backfill in access exclusive mode");
    try {
      const asked = Array.from({ length: 66 }, async () => {
        statuses.push((await viewer.get("backfills")).status);
      });
      await until(async () => refused() === 66 - 3 - 20, 20_000);
      const answer = everything.get("settings?clientCode=FIRST");
      assert.equal((await everything.post("settings/set", SETTING)).status, 200);
      await locking.query("commit");
      assert.equal((await answer).status, 200);
      await Promise.all(asked);
      assert.equal(statuses.filter((status) => status === 200).length, 23);
    } finally {
      await locking.query("rollback");
      locking.release();
    }
  });
});
