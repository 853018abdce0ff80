import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import type { ServiceError } from "../../src/platform/errors/registry.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

function naming(propertyCode: string, index = 0) {
  return { index, start: 0, end: 2, clientCode: "ACME", propertyCode };
}

describe("the register of properties", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  test("registers a new property once for concurrent batches, with one connection", async () => {
    const register = new PropertyRegister(database.pool, 1000);
    let connections = 0;
    const count = () => {
      connections += 1;
    };
    database.pool.on("acquire", count);
    await Promise.all(Array.from({ length: 20 }, () => register.register("together", [naming("NEW01")])));
    database.pool.off("acquire", count);
    assert.equal(connections, 1);
    const { rows } = await database.pool.query(
      "select count(*)::integer as count from bellhop.property where property_code = 'NEW01'",
    );
    assert.equal(rows[0].count, 1);
  });

  test("refuses every batch beyond a client's daily limit, including those that waited for a refused one", async () => {
    const register = new PropertyRegister(database.pool, 2);
    await register.register("bounded", [naming("B1"), naming("B2", 1)]);
    const results = await Promise.allSettled(
      ["B3", "B4", "B1", "B3"].map((code) => register.register("bounded", [naming(code)])),
    );
    assert.deepEqual(
      results.map((result) =>
        result.status === "fulfilled" ? "known" : (result.reason as ServiceError).code,
      ),
      [
        "bellhop.accept.TooManyNewProperties",
        "bellhop.accept.TooManyNewProperties",
        "known",
        "bellhop.accept.TooManyNewProperties",
      ],
    );
  });

  test("refuses batches beyond ten times the limit for all clients of a client code, and of no other code", async () => {
    const register = new PropertyRegister(database.pool, 2);
    const of = (clientCode: string, propertyCode: string, index = 0) => ({
      ...naming(propertyCode, index),
      clientCode,
    });
    for (let client = 0; client < 10; client += 1)
      await register.register(`crowd${client}`, [of("CROWD", `${client}a`), of("CROWD", `${client}b`, 1)]);
    await assert.rejects(async () => register.register("crowd10", [of("CROWD", "10a")]), {
      code: "bellhop.accept.TooManyNewProperties",
    });
    await register.register("crowd10", [of("CROWD", "1a"), of("CALM", "1", 1)]);
  });

  test("lets another client add while one is adding", async () => {
    const register = new PropertyRegister(database.pool, 1000);
    const holder = await database.pool.connect();
    await holder.query("begin; select pg_advisory_xact_lock(7302002, hashtext('slow'))");
    const slow = register.register("slow", [naming("S1")]);
    await register.register("quick", [naming("Q1")]);
    await holder.query("rollback");
    holder.release();
    await slow;
  });
});
