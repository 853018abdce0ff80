import assert from "node:assert/strict";
import { test } from "node:test";
import { bellhop } from "../support/command.ts";
import { createTestDatabase } from "../support/database.ts";

test("bellhop retention sets, lists, runs and removes terms, and reports what it did", async () => {
  const database = await createTestDatabase();
  const { pool } = database;
  const run = async (...args: string[]) => {
    const { code, out, err } = await bellhop(["retention", ...args], { DATABASE_URL: database.url });
    return [code, out, err] as const;
  };
  try {
    assert.match((await run("set", "*", "payloads", "12m"))[2], /12m is less than a day .* Add --short/);
    assert.deepEqual(await run("set", "ACME", "payloads", "90d"), [
      1,
      "",
      'bellhop: No batch has named the client code "ACME", and no client is granted it: no term was set.',
    ]);
    await pool.query(
      "insert into bellhop.property (client_code, property_code, bucket, created_by) values ('ACME', 'P1', 0, 'c1')",
    );
    assert.equal((await run("set", "ACME", "versions", "23h", "--short"))[0], 0);
    assert.equal((await run("unset", "ACME", "versions"))[0], 0);
    const [, none] = await run("list");
    assert.match(none, /^No term is set: everything is kept forever/);
    assert.deepEqual(await run("run"), [0, "Nothing is past its term.", ""]);

    assert.deepEqual(await run("set", "ACME", "payloads", "90d"), [
      0,
      "Term set: payloads of ACME, 90d.",
      "",
    ]);
    const every = ["set", "*", "payloads", "36h", "--resource", "inventories"];
    assert.equal((await run(...every))[1], "Term set: payloads of every client code (inventories), 36h.");
    assert.deepEqual(JSON.parse((await run("set", "ACME", "outcomes", "forever", "--json"))[1]), {
      clientCode: "ACME",
      kind: "outcomes",
      term: "forever",
    });
    const listed = await run("list", "--json");
    assert.deepEqual(
      (JSON.parse(listed[1]) as { terms: Record<string, string>[] }).terms.map(
        ({ clientCode, kind, resource, term }) => `${clientCode} ${kind} ${resource} ${term}`,
      ),
      [
        "* payloads inventories 36h",
        ...["groups", "inventories", "reservations"].map((of) => `ACME outcomes ${of} forever`),
        ...["groups", "inventories", "reservations"].map((of) => `ACME payloads ${of} 90d`),
      ],
    );
    assert.match(
      (await run("list"))[1],
      /^CLIENT CODE +KIND +RESOURCE +TERM\n\* +payloads +inventories +36h/,
    );

    // Resources are named as everywhere else, also where it is said since when data is complete.
    const [, shorter] = await run("set", "*", "payloads", "37h", "--resource", "inventories", "--json");
    const term = { clientCode: "*", kind: "payloads", resource: "inventories", term: "37h" };
    assert.deepEqual(JSON.parse(shorter), term);
    assert.equal((await run(...every))[0], 0);
    await pool.query(
      "insert into bellhop.retention_horizon (client_code, resource, kind, known_from) values ('ACME', 'i', 'payloads', '2026-01-01Z')",
    );
    const { horizons } = JSON.parse((await run("list", "--json"))[1]) as { horizons: unknown };
    const horizon = { clientCode: "ACME", kind: "payloads", resource: "inventories" };
    assert.deepEqual(horizons, [{ ...horizon, knownFrom: "2026-01-01T00:00:00Z" }]);

    // A window of the past, and somebody whose records could lie in it.
    await pool.query(
      `create table bellhop.accept_log_old partition of bellhop.accept_log
        for values from ('00000000-0000-7000-8000-000000000000') to ('019a0000-0000-7000-8000-000000000000')`,
    );
    assert.match(
      (await run("run", "--dry-run"))[1],
      /^accept_log: accept_log_old \(until 2025-\S+Z\) would be processed\.$/,
    );
    const holder = await pool.connect();
    await holder.query("select pg_advisory_lock(7302021)");
    const [busy, , why] = await run("run");
    await holder.query("select pg_advisory_unlock(7302021)");
    holder.release();
    assert.equal(busy, 1);
    assert.match(why, /^bellhop: Another retention run, a replay or an erasure is running/);
    assert.deepEqual(await run("run"), [0, "The windows past their term hold nothing to delete.", ""]);
    assert.deepEqual(JSON.parse((await run("run", "--json"))[1]), { state: "done", due: [], expired: [] });

    assert.deepEqual(await run("unset", "ACME", "payloads"), [0, "Term removed.", ""]);
    const [missing, , said] = await run("unset", "ACME", "payloads");
    assert.equal(missing, 1);
    assert.match(said, /^bellhop: No term is set for payloads of ACME/);
    for (const wrong of [
      ["set", "ACME", "payloads", "90x"],
      ["set", "ACME", "names", "90d"],
      ["set", "ACME", "payloads", "12m"],
      ["set", "ACME", "payloads", "90d", "--resource", "rooms"],
      ["unset", "ACME"],
      ["keep"],
    ])
      assert.equal((await run(...wrong))[0], 2, wrong.join(" "));
    const { rows } = await pool.query<{ what: string }>(
      "select what from bellhop.audit_entry order by audit_id",
    );
    assert.deepEqual(
      rows.map(({ what }) => what),
      [
        "set-retention",
        "unset-retention",
        "set-retention",
        "set-retention",
        "set-retention",
        "set-retention",
        "set-retention",
        "unset-retention",
      ],
    );
  } finally {
    await database.drop();
  }
});
