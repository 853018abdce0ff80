import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { SessionAnswer } from "../../src/console/session-answers.ts";
import { logIn as checkLogin } from "../../src/identity/login.ts";
import { createLoginLimiter } from "../../src/identity/login-limiter.ts";
import {
  createOperator,
  disableOperator,
  enableOperator,
  setOperatorPassword,
} from "../../src/identity/operators.ts";
import { permissionsOf } from "../../src/identity/roles.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { Semaphore } from "../../src/platform/runtime/semaphore.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import {
  ADMIN,
  addOperator,
  cookieSetBy,
  logIn,
  logInAsNew,
  PASSWORD,
  postLogin,
} from "../support/console-session.ts";
import { RawConnection } from "../support/raw-http.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const admin = () => ({ pool: service.pool, who: "cli:test" });
const codeOf = (answer: Answer) => answer.json()["exception"];

async function auditOf(who: string): Promise<string[]> {
  const { rows } = await service.pool.query<{ what: string }>(
    "select what from bellhop.audit_entry where who = $1 order by audit_id",
    [who],
  );
  return rows.map(({ what }) => what);
}

describe("logging in to the console", () => {
  test("without a session nobody is logged in, and the login page learns which logins are possible", async () => {
    const before = await service.get("/console/api/session", { as: null });
    assert.equal(before.status, 200);
    assert.deepEqual(
      { operator: before.json()["operator"], csrfToken: before.json()["csrfToken"] },
      { operator: null, csrfToken: null },
    );
    assert.equal(before.json()["hasOperators"], false);
    await createOperator(admin(), "first", PASSWORD, ADMIN);
    assert.equal((await service.get("/console/api/session", { as: null })).json()["hasOperators"], true);
  });

  test("the right password opens a session whose cookie is unreadable to scripts and never sent by other sites", async () => {
    await createOperator(admin(), "anna", PASSWORD, ADMIN);
    const answer = await postLogin(service, { name: "anna", password: PASSWORD });
    assert.equal(answer.status, 200, answer.text);
    const { port } = new URL(service.address);
    assert.match(
      answer.headers.get("set-cookie") ?? "",
      new RegExp(`^bellhop-console-${port}=[\\w-]{43}; Path=/console; HttpOnly; SameSite=Strict$`),
    );
    const session = answer.json() as unknown as SessionAnswer;
    assert.equal(session.operator?.name, "anna");
    assert.ok(Date.parse(session.expiresAt ?? "") > Date.now());
    const again = await service.get("/console/api/session", {
      as: null,
      headers: { cookie: cookieSetBy(answer) },
    });
    assert.deepEqual(again.json(), answer.json());
    assert.deepEqual(await auditOf("console:anna"), ["log-in"]);
  });

  test("the database has only the hash of a session's id and of a password", async () => {
    const { cookie } = await logInAsNew(service, "hashed");
    const id = cookie.split("=")[1] ?? "";
    const { rows } = await service.pool.query<{ row: string }>(
      `select to_json(session)::text as row from bellhop.operator_session as session
      union all select to_json(operator)::text from bellhop.operator as operator`,
    );
    assert.ok(rows.length >= 2);
    for (const { row } of rows) {
      assert.ok(!row.includes(id) && !row.includes(Buffer.from(id).toString("hex")));
      assert.ok(!row.includes(PASSWORD));
    }
    for (const line of service.logLines()) assert.ok(!line.includes(id) && !line.includes(PASSWORD));
  });

  test("an unknown name, a wrong password and a disabled operator are refused in the same words", async () => {
    await addOperator(service, "gone");
    await disableOperator(admin(), "gone");
    await addOperator(service, "berta");
    const answers = [
      await postLogin(service, { name: "nobody", password: PASSWORD }),
      await postLogin(service, { name: "berta", password: "wrong horse battery" }),
      await postLogin(service, { name: "gone", password: PASSWORD }),
      await postLogin(service, { name: "No such\u0007name", password: PASSWORD }),
    ];
    const bodies = answers.map((answer) => {
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.headers.get("set-cookie"), null);
      return { ...answer.json(), timestamp: "" };
    });
    for (const body of bodies) assert.deepEqual(body, bodies[0]);
    await until(async () => (await auditOf("console:berta")).includes("refuse-login"), 10_000);
    assert.deepEqual(await auditOf("console:nobody"), []);
  });

  test("the response to a wrong password precedes its audit entry, whose time would reveal that the name exists", async () => {
    await addOperator(service, "audited");
    const locking = await service.pool.connect();
    await locking.query("begin");
    await locking.query("lock table bellhop.audit_entry in exclusive mode");
    const answer = await postLogin(service, { name: "audited", password: "wrong horse battery" });
    await locking.query("rollback");
    locking.release();
    assert.equal(answer.status, 401, answer.text);
    await until(async () => (await auditOf("console:audited")).includes("refuse-login"), 10_000);
  });

  test("a password or account that changes while it is checked opens no session", async () => {
    const { pool } = service;
    const whileChecked = async (name: string, change: () => Promise<unknown>) => {
      await addOperator(service, name);
      const hashing = new (class extends Semaphore {
        override async run<Result>(work: () => Promise<Result>): Promise<Result> {
          const checked = await super.run(work);
          await change();
          return checked;
        }
      })(1, 1);
      const parts = { pool, limiter: createLoginLimiter(), hashing, cipher: createSecretCipher(undefined) };
      const log = createLogger({ level: "silent", pretty: false });
      return checkLogin({ ...parts, log }, "127.0.0.1", name, PASSWORD, undefined);
    };
    const other = () => setOperatorPassword(admin(), "mid-change", "another horse battery");
    await assert.rejects(whileChecked("mid-change", other), { code: "bellhop.console.LoginFailed" });
    const disable = () => disableOperator(admin(), "mid-disabled");
    await assert.rejects(whileChecked("mid-disabled", disable), { code: "bellhop.console.LoginFailed" });
    const { rows } = await pool.query(
      "select from bellhop.operator_session where operator_name like 'mid-%'",
    );
    assert.equal(rows.length, 0);
  });

  test("after ten wrong passwords for a name no other is looked at for a while, the right one neither", async () => {
    await addOperator(service, "guessed");
    await addOperator(service, "left-alone");
    const guesses = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        postLogin(service, { name: "guessed", password: `guess number ${at}` }),
      ),
    );
    for (const guess of guesses) assert.equal(guess.status, 401, guess.text);
    const refused = await postLogin(service, { name: "guessed", password: PASSWORD });
    assert.equal(refused.status, 429);
    assert.equal(codeOf(refused), "bellhop.console.TooManyAttempts");
    const wait = Number(refused.headers.get("retry-after"));
    assert.ok(wait > 0 && wait <= 300, String(wait));
    const other = await postLogin(service, { name: "left-alone", password: PASSWORD });
    assert.equal(other.status, 200, other.text);
  });

  test("a login form of another type, without JSON, with other fields or too large is refused", async () => {
    const send = (body: string | object, headers = {}) =>
      service.send("POST", "/console/api/login", { as: null, body, headers });
    assert.equal((await send("name=a", { "content-type": "application/x-www-form-urlencoded" })).status, 415);
    assert.equal((await send("name=a", { "content-type": "text/plain" })).status, 415);
    assert.equal((await send("{")).status, 422);
    assert.equal((await send([])).status, 422);
    assert.equal((await send({ name: "a", password: "b", remember: true })).status, 422);
    assert.equal((await send({ name: "a", password: 7 })).status, 422);
    assert.equal((await send({ name: "a", password: "x".repeat(3_000_000) })).status, 413);
  });
});

describe("a session", () => {
  test("is required everywhere except at the login", async () => {
    const paths = [
      "intake",
      "requests",
      "requests/0/records/0",
      "portfolio",
      "client-codes",
      "calendar",
      "history",
      "quarantine",
      "clients",
      "client-options",
      "clients/x",
      "settings",
      "statuses",
      "audit",
    ];
    for (const path of paths) {
      for (const cookie of ["", "bellhop-console-1=x", `a=${"A".repeat(43)}`]) {
        const answer = await service.get(`/console/api/${path}`, { as: null, headers: { cookie } });
        assert.equal(answer.status, 401, path);
        assert.equal(codeOf(answer), "bellhop.console.NotLoggedIn");
      }
      // A partner's token is none.
      assert.equal((await service.get(`/console/api/${path}`)).status, 401, path);
    }
    const { cookie } = await logInAsNew(service, "twice");
    const doubled = { cookie: `${cookie}; ${cookie}` };
    assert.equal((await service.get("/console/api/audit", { as: null, headers: doubled })).status, 401);
  });

  test("ends when it is idle, when its time is over, with the logout and with its operator", async () => {
    const session = await logInAsNew(service, "carla");
    const age = (column: string, interval: string) =>
      service.pool.query(
        `update bellhop.operator_session set ${column} = clock_timestamp() - $1::interval where operator_name = 'carla'`,
        [interval],
      );
    assert.equal((await session.get("audit")).status, 200);
    await age("last_seen_at", "61 minutes");
    assert.equal((await session.get("audit")).status, 401);
    await age("last_seen_at", "59 minutes");
    // A page that looks again by itself does not keep it alive; whoever asks something else does.
    assert.equal((await session.get("intake")).status, 200);
    for (const polled of ["backfills", "certifications"])
      assert.equal((await session.get(`${polled}/01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11`)).status, 404);
    const seen = async () =>
      (
        await service.pool.query<{ fresh: boolean }>(
          "select last_seen_at > clock_timestamp() - interval '1 minute' as fresh from bellhop.operator_session where operator_name = 'carla'",
        )
      ).rows[0]?.fresh;
    assert.equal(await seen(), false);
    assert.equal((await session.get("audit")).status, 200);
    assert.equal(await seen(), true);
    await age("expires_at", "1 second");
    assert.equal((await session.get("audit")).status, 401);

    const second = await logIn(service, "carla");
    const left = await second.post("logout");
    assert.equal(left.status, 200);
    assert.match(left.headers.get("set-cookie") ?? "", /=; .*Max-Age=0$/);
    assert.equal((await second.get("audit")).status, 401);

    const third = await logIn(service, "carla");
    await disableOperator(admin(), "carla");
    assert.equal((await third.get("audit")).status, 401);
    await enableOperator(admin(), "carla");
    assert.equal((await third.get("audit")).status, 401);
  });

  test("is valid on every node and after a restart", async () => {
    const session = await logInAsNew(service, "dora");
    const other = await startTestService({}, { database: service.database });
    try {
      // Cookies are named after the port that a browser asked; the session is the same.
      const { port } = new URL(other.address);
      const cookie = session.cookie.replace(/^[^=]+/, `bellhop-console-${port}`);
      const answer = await other.get("/console/api/session", { as: null, headers: { cookie } });
      assert.deepEqual(answer.json()["operator"], {
        ...ADMIN,
        name: "dora",
        permissions: permissionsOf("admin"),
        hasPassword: true,
        hasTotp: false,
      });
      assert.equal(answer.json()["csrfToken"], session.csrfToken);
    } finally {
      await other.stop();
    }
  });

  test("a login ends the session that the browser had before, and the oldest of more than ten", async () => {
    const before = await logInAsNew(service, "erika");
    const answer = await postLogin(service, { name: "erika", password: PASSWORD }, { cookie: before.cookie });
    assert.equal(answer.status, 200);
    assert.equal((await before.get("audit")).status, 401);
    await service.pool.query(
      `insert into bellhop.operator_session (digest, operator_name, created_at, expires_at)
      select sha256(n::text::bytea), 'erika', clock_timestamp() - interval '1 hour' - n * interval '1 minute', clock_timestamp() + interval '1 hour'
      from generate_series(1, 12) as n`,
    );
    await logIn(service, "erika");
    const { rows } = await service.pool.query<{ sessions: number }>(
      "select count(*)::integer as sessions from bellhop.operator_session where operator_name = 'erika'",
    );
    assert.equal(rows[0]?.sessions, 10);
  });

  test("the password can be changed only with the current one, which ends all other sessions", async () => {
    const here = await logInAsNew(service, "frida");
    const elsewhere = await logIn(service, "frida");
    const change = (current: string, password: string) => here.post("password", { current, password });
    assert.equal((await change("wrong horse battery", "another horse battery")).status, 401);
    const weak = await change(PASSWORD, "short");
    assert.equal(weak.status, 422);
    assert.match(String(weak.json()["message"]), /12 to 256 characters/);
    assert.equal((await change(PASSWORD, "another horse battery")).status, 200);
    assert.equal((await here.get("audit")).status, 200);
    assert.equal((await elsewhere.get("audit")).status, 401);
    assert.equal((await postLogin(service, { name: "frida", password: PASSWORD })).status, 401);
    assert.equal(
      (await postLogin(service, { name: "frida", password: "another horse battery" })).status,
      200,
    );
    await setOperatorPassword(admin(), "frida", "a third horse battery");
    assert.equal((await here.get("audit")).status, 401);
    assert.ok((await auditOf("console:frida")).includes("set-operator-password"));
  });
});

describe("a change", () => {
  test("without the session's token, with another session's, or from another site is refused and does nothing", async () => {
    const session = await logInAsNew(service, "greta");
    const other = await logInAsNew(service, "hanna");
    const bad: Record<string, string>[] = [
      { "x-bellhop-csrf": "" },
      { "x-bellhop-csrf": other.csrfToken },
      { "x-bellhop-csrf": session.csrfToken.slice(0, -1) },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ];
    for (const headers of bad) {
      const answer = await session.post(
        "clients",
        { name: "Forged", scopes: ["introspect"], grants: [] },
        headers,
      );
      assert.equal(answer.status, 403, JSON.stringify(headers));
      assert.equal(codeOf(answer), "bellhop.console.Forged");
      assert.equal((await session.post("logout", {}, headers)).status, 403);
    }
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.example" }]) {
      const answer = await postLogin(service, { name: "greta", password: PASSWORD }, headers);
      assert.equal(answer.status, 403);
    }
    assert.equal((await session.get("audit")).status, 200);
    const clients = await session.read<{ items: { name: string }[] }>("clients?search=Forged");
    assert.deepEqual(clients.items, []);
    const own = { "sec-fetch-site": "same-origin", origin: new URL(service.address).origin };
    assert.equal((await session.post("logout", {}, own)).status, 200);
  });

  test("is never made by GET, and other sites' pages cannot read responses", async () => {
    const session = await logInAsNew(service, "ida");
    for (const path of ["logout", "password", "login", "settings/set"]) {
      const answer = await session.get(path);
      assert.ok([404, 405].includes(answer.status), `${path} ${answer.status}`);
    }
    const answer = await session.get("audit");
    assert.equal(answer.headers.get("access-control-allow-origin"), null);
    assert.equal(answer.headers.get("cross-origin-resource-policy"), "same-origin");
  });
});

describe("the host that a request names", () => {
  const statusFor = async (node: TestService, host: string, path: string) => {
    const connection = await RawConnection.open(node.address);
    connection.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const { status, body } = await connection.answer();
    connection.destroy();
    if (status === 421) assert.match(body.toString(), /bellhop\.console\.WrongHost.*BASE_URL/);
    return status;
  };

  test("is that of BASE_URL or this machine's own; a name that another points here is 421", async () => {
    const behind = await startTestService(
      { baseUrl: "https://hotels.example" },
      { database: service.database },
    );
    try {
      for (const path of ["/console", "/console/api/session", "/console/assets/x.js"]) {
        for (const host of [
          "evil.example",
          "evil.example:8080",
          "hotels.example.evil.example",
          "10.0.0.1",
          "127.0.0.1.evil.example",
          "a",
        ])
          assert.equal(await statusFor(behind, host, path), 421, `${host} ${path}`);
      }
      for (const host of [
        "hotels.example",
        "HOTELS.example:443",
        "localhost:1",
        "127.0.0.1",
        "127.1.2.3:80",
        "[::1]:8080",
      ])
        assert.equal(await statusFor(behind, host, "/console/api/session"), 200, host);
      // What is not the console's answers to any name.
      assert.equal(await statusFor(behind, "evil.example", "/healthz"), 200);
    } finally {
      await behind.stop();
    }
  });
});

describe("behind TLS", () => {
  test("the cookie is Secure and bound to the host; plain http allows no logins from other machines", async () => {
    await addOperator(service, "jana");
    const login = { name: "jana", password: PASSWORD };
    const behind = await startTestService(
      { baseUrl: "https://hotels.example" },
      { database: service.database },
    );
    try {
      const answer = await postLogin(behind, login, { origin: "https://hotels.example" });
      assert.equal(answer.status, 200, answer.text);
      assert.match(
        answer.headers.get("set-cookie") ?? "",
        /^__Host-bellhop-console=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
      );
    } finally {
      await behind.stop();
    }
    const open = await startTestService({ baseUrl: "http://hotels.example" }, { database: service.database });
    try {
      const answer = await postLogin(open, login);
      assert.equal(answer.status, 403);
      assert.equal(codeOf(answer), "bellhop.console.NeedsTls");
    } finally {
      await open.stop();
    }
  });
});
