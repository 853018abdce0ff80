import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { migrate } from "../../src/db/migrate.ts";
import { leaveOlderVersions, OlderNodesPresent } from "../../src/db/oldest-version.ts";
import { enterPresence, versionsPresent } from "../../src/db/presence.ts";
import { createLogger } from "../../src/observe/log.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const log = createLogger({ level: "silent", pretty: false });

describe("what older versions cannot read", () => {
  let database: TestDatabase;
  let client: pg.Client;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  test("is not begun while one of them runs", async () => {
    await enterPresence(client, ["accept"], "a node");
    // As version 0.1.0 enters itself.
    await client.query("update bellhop.presence set version = null");
    assert.deepEqual(await versionsPresent(client), ["0.1.0"]);
    await assert.rejects(
      leaveOlderVersions(client, { what: "sealed things", oldest: "0.2.0" }),
      (error) => error instanceof OlderNodesPresent && /Version 0\.1\.0 runs/.test(error.message),
    );
    await client.query("delete from bellhop.presence");
  });

  test("keeps them from starting afterwards, and newer ones not", async () => {
    await leaveOlderVersions(client, { what: "sealed things", oldest: "0.2.0" });
    await leaveOlderVersions(client, { what: "sealed things", oldest: "0.2.0" });
    await migrate(database.clientConfig, log);
    await leaveOlderVersions(client, { what: "things of the future", oldest: "99.0.0" });
    await assert.rejects(
      migrate(database.clientConfig, log),
      /things of the future.* start version 99\.0\.0/,
    );
  });
});
