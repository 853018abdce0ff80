import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SessionAnswer } from "../../src/console/session-answers.ts";
import { createOperator, setOperatorAccount } from "../../src/identity/operators.ts";
import { logInAsNew } from "../support/console-session.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid-provider.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";

/** Who may log in at the provider, by the name that its login form takes. */
const ACCOUNTS: Parameters<typeof startOpenIdProvider>[0] = {
  anna: { email: "Anna@hotel.example", email_verified: true },
  unverified: { email: "anna@hotel.example", email_verified: false },
  newcomer: { email: "anna@hotel.example", email_verified: true },
  stranger: { email: "stranger@elsewhere.example", email_verified: true },
  ours: { email: "ours@hotel.example", email_verified: true, azp: "bellhop" },
  theirs: { email: "theirs@hotel.example", email_verified: true, azp: "another" },
  kelvin: { email: "\u212Aim@hotel.example", email_verified: true },
};

let issuer: string;
let provider: OpenIdProvider;
let service: TestService;

before(async () => {
  provider = await startOpenIdProvider(ACCOUNTS);
  const singleSignOn = provider.settings;
  issuer = singleSignOn.issuer;
  service = await startTestService({ singleSignOn });
  provider.serve(service.address);
  const admin = { pool: service.pool, who: "cli:test" };
  await createOperator(admin, "boss", undefined, {
    role: "admin",
    grants: ["*/*"],
    email: "boss@hotel.example",
  });
  await createOperator(admin, "anna", undefined, {
    role: "revenue",
    grants: ["ACME/*"],
    email: "anna@hotel.example",
  });
});
after(async () => {
  await service.stop();
  provider.stop();
});

const REDIRECTED = { redirect: "manual" } as const;

/** A browser with a jar for each host. */
class Browser {
  readonly #jars = new Map<string, Map<string, string>>();

  async go(address: URL | string, form?: Record<string, string>): Promise<Response> {
    const url = new URL(address);
    const jar = this.#jars.get(url.host) ?? new Map<string, string>();
    this.#jars.set(url.host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      ...REDIRECTED,
      headers: { cookie },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  cookieOf(host: string, beginning: string): string | undefined {
    return [...(this.#jars.get(host) ?? [])].find(([name]) => name.startsWith(beginning))?.join("=");
  }
}

/** Logs in at the provider and stops at the address that leads back. */
async function backFromProvider(browser: Browser, login: string): Promise<URL> {
  let at = new URL("/console/api/oidc/start", service.address);
  for (let steps = 0; steps < 12; steps += 1) {
    const response = await browser.go(at);
    const location = response.headers.get("location");
    if (location !== null) {
      at = new URL(location, at);
      if (at.pathname === "/console/api/oidc/callback") return at;
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1] ?? "";
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const posted = await browser.go(new URL(action, at), { prompt, login, password: "any" });
    at = new URL(posted.headers.get("location") ?? "", at);
  }
  throw new Error(`The provider did not lead back; the last address was ${at.href}`);
}

async function signOn(login: string): Promise<{ readonly browser: Browser; readonly response: Response }> {
  const browser = new Browser();
  const response = await browser.go(await backFromProvider(browser, login));
  assert.equal(response.status, 303);
  return { browser, response };
}

const refusalOf = (response: Response) =>
  new URL(response.headers.get("location") ?? "", service.address).searchParams.get("refused");

async function sessionOf(browser: Browser): Promise<SessionAnswer> {
  const cookie = browser.cookieOf(new URL(service.address).host, "bellhop-console") ?? "";
  const answer: Answer = await service.get("/console/api/session", { as: null, headers: { cookie } });
  return answer.json() as unknown as SessionAnswer;
}

test("an operator logs in at the provider, with the role and scope of the console", async () => {
  const { browser, response } = await signOn("anna");
  assert.equal(response.headers.get("location"), "/console/");
  const cookies = response.headers.getSetCookie().join("\n");
  assert.match(cookies, /bellhop-console-\d+=[A-Za-z0-9_-]{43}; Path=\/console; HttpOnly; SameSite=Strict/);
  const { operator, singleSignOn } = await sessionOf(browser);
  assert.deepEqual([operator?.name, operator?.role, operator?.grants], ["anna", "revenue", ["ACME/*"]]);
  assert.equal(singleSignOn?.host, new URL(issuer).host);
  const again = await signOn("anna");
  assert.equal((await sessionOf(again.browser)).operator?.name, "anna");
});

test("a reassigned address is another account; unverified or unknown addresses cannot log in", async () => {
  for (const [login, refusal] of [
    ["newcomer", "unknown"],
    ["unverified", "email"],
    ["stranger", "unknown"],
    ["kelvin", "email"],
    // OpenID Connect Core, section 2.
    ["x".repeat(256), "provider"],
  ] as const) {
    const { browser, response } = await signOn(login);
    assert.equal(refusalOf(response), refusal, login);
    assert.equal((await sessionOf(browser)).operator, null);
  }
  const { rows } = await service.pool.query(
    "select detail ->> 'subject' as subject from bellhop.audit_entry where what = 'refuse-login' order by audit_id",
  );
  assert.deepEqual(
    rows.map(({ subject }) => subject),
    ["newcomer", "unverified", "stranger", "kelvin"],
  );
});

test("a response is accepted once, unmodified, and only from the browser that began the login", async () => {
  const asked = new Browser();
  const address = await backFromProvider(asked, "anna");
  assert.equal(refusalOf(await new Browser().go(address)), "expired", "another browser has no cookie");
  const victim = new Browser();
  await victim.go(new URL("/console/api/oidc/start", service.address));
  assert.equal(refusalOf(await victim.go(address)), "provider", "another's state: a login that was planted");
  const changed = new URL(address);
  changed.searchParams.set("iss", "https://evil.example");
  const other = new Browser();
  const before = await backFromProvider(other, "anna");
  before.searchParams.set("iss", "https://evil.example");
  assert.equal(refusalOf(await other.go(before)), "provider");
  assert.equal((await asked.go(address)).headers.get("location"), "/console/");
  assert.equal(refusalOf(await asked.go(address)), "expired", "the cookie went with the first");
  const denied = new Browser();
  const start = await denied.go(new URL("/console/api/oidc/start", service.address));
  const state = new URL(start.headers.get("location") ?? "").searchParams.get("state") ?? "";
  const back = new URL("/console/api/oidc/callback", service.address);
  back.search = new URLSearchParams({ error: "access_denied", state, iss: issuer }).toString();
  assert.equal(refusalOf(await denied.go(back)), "denied");
});

test("an ID token issued to another client of the provider is refused", async () => {
  assert.equal(refusalOf((await signOn("ours")).response), "unknown");
  assert.equal(refusalOf((await signOn("theirs")).response), "provider");
});

test("an operator without a local password has none to guess, and an admin can remove the account", async () => {
  const login = await service.send("POST", "/console/api/login", {
    as: null,
    body: { name: "anna", password: "anything that is long" },
  });
  assert.equal(login.status, 401);
  await setOperatorAccount({ pool: service.pool, who: "cli:test" }, "anna", { email: "other@hotel.example" });
  assert.equal(refusalOf((await signOn("anna")).response), "unknown");
  await service.pool.query(
    "update bellhop.operator set disabled_at = now(), email = 'stranger@elsewhere.example' where name = 'anna'",
  );
  assert.equal(refusalOf((await signOn("stranger")).response), "disabled");
});

test("a provider that cannot be reached is reported in words, and passwords still work", async () => {
  const alone = await startTestService({
    singleSignOn: { issuer: "http://127.0.0.1:9", clientId: "bellhop", clientSecret: undefined },
  });
  try {
    const response = await new Browser().go(new URL("/console/api/oidc/start", alone.address));
    assert.equal(
      new URL(response.headers.get("location") ?? "", alone.address).searchParams.get("refused"),
      "provider",
    );
    await logInAsNew(alone, "local");
  } finally {
    await alone.stop();
  }
});
