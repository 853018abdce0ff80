import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { SETTINGS } from "./config-table.ts";

const MIB = 1_048_576;

/** Each limit of the contract: its setting, where it stands in the configuration, and its default. */
const LIMITS: readonly [name: string, of: (config: Config) => unknown, fallback: number][] = [
  ["REQUEST_RATE", (config) => config.requestRate, 50],
  ["REQUEST_BURST", (config) => config.requestBurst, 100],
  ["TOKEN_BURST", (config) => config.tokenBurst, 6],
  ["BODY_LIMIT_BYTES", (config) => config.limits.bodyBytesMax, 16 * MIB],
  ["INFLATED_LIMIT_BYTES", (config) => config.limits.inflatedBytesMax, 64 * MIB],
  ["BODIES_IN_FLIGHT_BYTES", (config) => config.limits.bodiesInFlightBytesMax, 128 * MIB],
  ["RECORDS_PER_BATCH_MAX", (config) => config.limits.recordsMax, 10_000],
  ["NESTING_DEPTH_MAX", (config) => config.limits.depthMax, 16],
  ["HEADERS_TIMEOUT_MS", (config) => config.limits.headersTimeoutMs, 10_000],
  ["REQUEST_TIMEOUT_MS", (config) => config.limits.requestTimeoutMs, 60_000],
  ["KEEP_ALIVE_TIMEOUT_MS", (config) => config.limits.keepAliveTimeoutMs, 65_000],
  ["NEW_PROPERTIES_PER_DAY", (config) => config.newPropertiesPerDay, 1_000],
];

describe("the configuration", () => {
  test("has the contract's limits where nothing is set", () => {
    const config = readConfig({});
    for (const [name, of, fallback] of LIMITS) assert.equal(of(config), fallback, name);
    assert.equal(config.tokenStrictHour, false);
  });

  test("takes each limit from its own setting", () => {
    for (const [name, of] of LIMITS) {
      const config = readConfig({ [name]: "7" });
      assert.equal(of(config), 7, name);
      for (const [other, ofOther, fallback] of LIMITS)
        if (other !== name) assert.equal(ofOther(config), fallback, `${other} beside ${name}`);
    }
    assert.equal(readConfig({ TOKEN_STRICT_HOUR: "yes" }).tokenStrictHour, true);
  });

  test("allows slow readers 30 s even if idle connections are closed sooner", () => {
    const stalled = (value: string) => readConfig({ KEEP_ALIVE_TIMEOUT_MS: value }).limits.stalledTimeoutMs;
    assert.deepEqual([stalled("1000"), stalled("65000")], [30_000, 65_000]);
  });

  test("refuses a limit that cannot be one, by its name", () => {
    for (const [name] of LIMITS) {
      for (const value of ["0", "-1", "1.5", "many", "1e3", " 5", "9".repeat(16)]) {
        const named = (error: unknown) => error instanceof ConfigError && error.message.startsWith(name);
        assert.throws(() => readConfig({ [name]: value }), named, `${name}=${value}`);
      }
    }
    assert.throws(() => readConfig({ TOKEN_STRICT_HOUR: "maybe" }), /^ConfigError|TOKEN_STRICT_HOUR/);
  });

  test("accepts a login provider by https, or on this machine, including its IPv6 address", () => {
    const issuer = (address: string) =>
      readConfig({ CONSOLE_OIDC_ISSUER: address, CONSOLE_OIDC_CLIENT_ID: "bellhop" }).singleSignOn?.issuer;
    for (const good of [
      "https://id.hotels.example",
      "http://localhost:8081",
      "http://127.0.0.1",
      "http://[::1]:8081",
    ])
      assert.equal(issuer(good), good);
    for (const bad of ["http://id.hotels.example", "http://[2001:db8::1]", "http://127.0.0.1.hotels.example"])
      assert.throws(() => issuer(bad), /must be an https address/, bad);
  });

  test("treats an empty setting as not set", () => {
    for (const [name, of, fallback] of LIMITS) assert.equal(of(readConfig({ [name]: "" })), fallback, name);
  });

  test("wants a key of 32 bytes, a port that there is, and an hour that is strict or not", () => {
    assert.throws(() => readConfig({ KEY_ENCRYPTION_KEY: "c2hvcnQ=" }), /KEY_ENCRYPTION_KEY/);
    assert.throws(() => readConfig({ PORT: "65536" }), /PORT/);
    assert.equal(readConfig({ KEY_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64") }).production, false);
  });

  test("has every role unless some are named, each once, and the graces of a stop", () => {
    assert.deepEqual(readConfig({}).roles, ["accept", "apply", "read"]);
    assert.deepEqual(readConfig({ ROLE: "read, accept" }).roles, ["accept", "read"]);
    for (const ROLE of ["accept,accept", "write", "accept,", ","])
      assert.throws(() => readConfig({ ROLE }), /^ConfigError|ROLE must be/, ROLE);
    assert.equal(readConfig({}).stopGraceMs, 0);
    assert.equal(readConfig({ NODE_ENV: "production" }).stopGraceMs, 2_000);
    assert.equal(readConfig({ STOP_GRACE_MS: "0", NODE_ENV: "production" }).stopGraceMs, 0);
    assert.throws(() => readConfig({ STOP_GRACE_MS: "3001" }), /STOP_GRACE_MS must be at most 3000/);
  });

  test("has a sandbox with the embedded database on a loopback address alone, never in production", () => {
    for (const settings of [{}, { HOST: "localhost" }, { HOST: "::1" }, { HOST: "127.8.8.8" }])
      assert.equal(readConfig(settings).sandbox, true, JSON.stringify(settings));
    for (const settings of [
      { NODE_ENV: "production" },
      { NODE_ENV: "prod" },
      { DATABASE_URL: "postgresql://localhost/x" },
      { HOST: "0.0.0.0" },
      { HOST: "::" },
      { HOST: "192.168.1.7" },
      { HOST: "127.0.0.1.example" },
    ]) {
      assert.equal(readConfig(settings).sandbox, false, JSON.stringify(settings));
    }
    assert.equal(readConfig({}, { sandbox: false }).sandbox, false);
  });

  test("sends webhooks to loopback in a sandbox, and nowhere else that is not named", () => {
    const networks = (...given: Parameters<typeof readConfig>) => readConfig(...given).webhookAllowedNetworks;
    assert.deepEqual(networks({}), ["127.0.0.0/8", "::1/128"]);
    assert.deepEqual(networks({ WEBHOOK_ALLOWED_NETWORKS: "10.1.0.0/16" }), ["10.1.0.0/16"]);
    assert.deepEqual(networks({}, { sandbox: false }), []);
    for (const settings of [
      { NODE_ENV: "production" },
      { DATABASE_URL: "postgresql://localhost/x" },
      { HOST: "::" },
    ])
      assert.deepEqual(networks(settings), [], JSON.stringify(settings));
  });
});

const KEY = Buffer.alloc(32, 7).toString("base64");

const refusals: readonly [setting: string, value: string, message: RegExp][] = [
  ["PORT", "abc", /^PORT must be a whole number/],
  ["PORT", "65536", /^PORT must be at most 65535/],
  ["AUTH_PORT", "99999", /^AUTH_PORT must be at most 65535/],
  ["AUTH_PORT", "8080", /^AUTH_PORT must be another port than PORT/],
  ["LOG_LEVEL", "loud", /^LOG_LEVEL must be one of .*debug/],
  ["BASE_URL", "hotels.example", /^BASE_URL must be an http or https address/],
  ["BASE_URL", "http:hotels.example", /^BASE_URL must be/],
  ["BASE_URL", "https://ops:s3cret@hotels.example", /^BASE_URL must be/],
  ["AUTH_URL", "ftp://hotels.example", /^AUTH_URL must be/],
  ["AUTH_URL", "https://hotels.example/?x=1", /^AUTH_URL must be/],
  ["KEY_ENCRYPTION_KEY", "s3cret", /^KEY_ENCRYPTION_KEY must be 32 bytes/],
  ["KEY_ENCRYPTION_KEY_PREVIOUS", KEY, /^KEY_ENCRYPTION_KEY_PREVIOUS requires KEY_ENCRYPTION_KEY/],
  ["ENCRYPT_PAYLOADS", "yes", /^ENCRYPT_PAYLOADS requires KEY_ENCRYPTION_KEY/],
  ["SIGNING_KEY_ROTATION_DAYS", "3651", /^SIGNING_KEY_ROTATION_DAYS must be at most 3650/],
  ["METRICS_TOKEN_FILE", "/nowhere/s3cret", /^METRICS_TOKEN_FILE cannot be read \(ENOENT\)/],
  ["REQUEST_RATE", "0", /^REQUEST_RATE must be at least 1/],
  ["TOKEN_STRICT_HOUR", "maybe", /^TOKEN_STRICT_HOUR must be yes or no/],
];

test("a setting that cannot be used is refused in one line that names it and shows no secret", () => {
  for (const [setting, value, message] of refusals) {
    assert.throws(
      () => readConfig({ [setting]: value }),
      (error) =>
        error instanceof ConfigError && message.test(error.message) && !/s3cret|\n/.test(error.message),
      `${setting}=${value}`,
    );
  }
});

test("addresses lose the slash at their end, and both ports may be free ones", () => {
  const config = readConfig({
    BASE_URL: "https://hotels.example/in/",
    AUTH_URL: "http://[::1]:9000",
    PORT: "0",
    AUTH_PORT: "0",
  });
  assert.deepEqual(
    [config.baseUrl, config.authUrl, config.authPort],
    ["https://hotels.example/in", "http://[::1]:9000", 0],
  );
});

test("a mail server needs a sender, and no message about it has its password", () => {
  const url = "smtps://bellhop:s3cret@smtp.example:465";
  const { mail } = readConfig({ SMTP_URL: url, SMTP_FROM: "Bellhop, Zürich <bellhop@hotels.example>" });
  assert.deepEqual(mail, { url, from: { name: "Bellhop, Zürich", address: "bellhop@hotels.example" } });
  assert.equal(readConfig({ SMTP_FROM: "bellhop@hotels.example" }).mail, undefined);
  const plain = readConfig({ SMTP_URL: url, SMTP_FROM: "bellhop@hotels.example" }).mail?.from;
  assert.deepEqual(plain, { name: "", address: "bellhop@hotels.example" });
  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ SMTP_URL: url }, /SMTP_URL requires SMTP_FROM/],
    [{ SMTP_URL: "https://bellhop:s3cret@smtp.example", SMTP_FROM: "a@b.example" }, /SMTP_URL must be/],
    [{ SMTP_URL: "bellhop:s3cret", SMTP_FROM: "a@b.example" }, /SMTP_URL must be/],
    ...[
      "Bellhop",
      "<a@b.example",
      "a b@c.example",
      "A <a@b.example>, B <b@c.example>",
      "a@b.example\nBcc: c",
    ].map((from) => [{ SMTP_URL: url, SMTP_FROM: from }, /SMTP_FROM must be/] as const),
  ];
  for (const [environment, message] of wrong)
    assert.throws(
      () => readConfig(environment),
      (error) =>
        error instanceof ConfigError && message.test(error.message) && !error.message.includes("s3cret"),
      JSON.stringify(environment),
    );
});

describe("secrets from files", () => {
  test("are read for every setting that is one, less the end of the line, and for no other", async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "bellhop-secrets-"));
    t.after(() => rm(directory, { recursive: true }));
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const key = await file("key", `${KEY}\n`);
    const config = readConfig({
      KEY_ENCRYPTION_KEY_FILE: key,
      KEY_ENCRYPTION_KEY_PREVIOUS_FILE: await file(
        "former",
        `${KEY}, ${Buffer.alloc(32, 8).toString("base64")}\r\n`,
      ),
      METRICS_TOKEN_FILE: await file("token", "a token"),
      DATABASE_URL_FILE: await file("url", "postgresql://db.example/hotels\n"),
      PORT_FILE: key,
    });
    assert.equal(config.keyEncryptionKey, KEY);
    assert.equal(config.keyEncryptionKeysPrevious.length, 2);
    assert.deepEqual(
      [config.metricsToken, config.databaseUrl, config.port],
      ["a token", "postgresql://db.example/hotels", 8080],
    );
    assert.equal(config.sandbox, false, "a database of one's own, wherever it is named");
    for (const text of ["", "\n", "two\nlines\n", "a\0b", "x".repeat(70_000)]) {
      const wrong = await file("wrong", text);
      assert.throws(() => readConfig({ METRICS_TOKEN_FILE: wrong }), /must hold one line/);
    }
    assert.throws(
      () => readConfig({ KEY_ENCRYPTION_KEY_FILE: key, KEY_ENCRYPTION_KEY: KEY }),
      /Set KEY_ENCRYPTION_KEY or KEY_ENCRYPTION_KEY_FILE, not both/,
    );
  });

  test("all names marked as secret are redacted", () => {
    const secrets = SETTINGS.filter((setting) => "isSecret" in setting).map(({ name }) => name);
    const sounds = SETTINGS.map(({ name }) => name).filter((name) =>
      /DATABASE_URL|SMTP_URL|_KEY$|_KEY_PREVIOUS$|TOKEN$|SECRET|PASSWORD|HEADERS$/.test(name),
    );
    assert.deepEqual(secrets, sounds);
  });
});
