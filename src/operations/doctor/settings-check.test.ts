import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../config.ts";
import type { Finding } from "./finding.ts";
import { settings } from "./settings-check.ts";

const PRODUCTION = {
  NODE_ENV: "production",
  DATABASE_URL: "postgresql://db.example/bellhop",
  BASE_URL: "https://hotels.example",
  HOST: "0.0.0.0",
  KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  METRICS_TOKEN: "m",
  HTTP_THREADS: "1",
  APPLY_WRITERS: "1",
  BODIES_IN_FLIGHT_BYTES: String(96 * 2 ** 20),
};

async function look(environment: Readonly<Record<string, string | undefined>>): Promise<readonly Finding[]> {
  return settings.run(readConfig(environment));
}

const troubles = async (changes: Readonly<Record<string, string | undefined>>, base = PRODUCTION) =>
  (await look({ ...base, ...changes })).flatMap(({ id, severity }) =>
    severity === "ok" ? [] : [`${severity} ${id}`],
  );

test("production and development settings pass all checks", async () => {
  assert.deepEqual(await troubles({}), []);
  assert.deepEqual(
    (await look({})).filter(({ severity }) => severity === "error"),
    [],
  );
});

test("each setting that is dangerous, alone or with another, is found, and nothing else", async () => {
  const cases: readonly (readonly [changes: Record<string, string | undefined>, ...found: string[]])[] = [
    [{ NODE_ENV: "development" }, "warning settings.environment"],
    [{ BASE_URL: undefined }, "warning settings.addresses"],
    [{ BASE_URL: "http://hotels.example" }, "error settings.addresses"],
    [{ AUTH_URL: "http://auth.example" }, "error settings.addresses"],
    [{ KEY_ENCRYPTION_KEY: undefined }, "warning settings.key-encryption"],
    [{ METRICS_TOKEN: undefined }, "warning settings.metrics"],
    [{ METRICS_TOKEN: undefined, HOST: "127.0.0.1" }],
    [{ ALLOW_UNSAFE_DURABILITY: "yes" }, "warning settings.durability"],
    [{ MIN_FREE_DISK_MIB: "0" }],
    [{ MIN_FREE_DISK_MIB: "0", DATABASE_URL: undefined }, "warning settings.disk-floor"],
    [{ INFLATED_LIMIT_BYTES: String(2 ** 30) }, "warning settings.body-limits"],
    [{ BODIES_IN_FLIGHT_BYTES: String(2 ** 48) }, "warning settings.memory"],
    [{ HTTP_THREADS: "64" }, "warning settings.threads"],
  ];
  for (const [changes, ...found] of cases) {
    const reported = (await troubles(changes)).filter(
      (trouble) => changes["HTTP_THREADS"] === undefined || !trouble.endsWith("memory"),
    );
    assert.deepEqual(reported, found, JSON.stringify(changes));
  }
});
