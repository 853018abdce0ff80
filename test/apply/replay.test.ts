import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { derivationAdvice } from "../../src/apply/ledger/derivation.ts";
import { replay } from "../../src/apply/replay.ts";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { ShardMap } from "../../src/platform/db/citus/shard-groups.ts";
import { withSession } from "../../src/platform/db/connection.ts";
import { DISTRIBUTED_TABLES } from "../../src/platform/db/distribute.ts";
import { decideQuarantined, findQuarantined } from "../../src/query/quarantine.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { isOnCitus } from "../support/database.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

describe("quarantine and replay", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open(2);
    bench.startApplier();
  });
  after(() => bench.close());

  const runReplay = (swap = false) =>
    replay({ clientConfig: bench.database.clientConfig, pool: bench.database.pool, swap });

  const resolve = async (kind: "release" | "discard", requestId: string): Promise<string> => {
    const [quarantined] = await findQuarantined(bench.database.pool, requestId, 0);
    const entry = await bench.log.appendResolution({
      kind,
      operator: "tester",
      bucket: quarantined?.bucket ?? 37,
      resource: "r",
      requestId,
      index: 0,
    });
    return bench.outcomesOf(entry);
  };

  const keysOf = async (key: string) =>
    bench.rows<{ change_no: number | null; outcome: string }>(
      "select change_no, outcome from bellhop_state.reservation_version where key = $1 order by source_time",
      [key],
    );

  /** A quarantined record of its own, and what is known of the decisions on it. */
  const held = async (key: string) => {
    const requestId = await bench.accept([reservation(key, "2999-01-01T00:00:00Z", "x")]);
    assert.equal(await bench.outcomesOf(requestId), "q");
    const [quarantined] = await findQuarantined(bench.database.pool, requestId, 0);
    assert.ok(quarantined !== undefined);
    const { pool } = bench.database;
    type Append = typeof bench.log.appendResolution;
    return {
      decide: (kind: "release" | "discard", append: Append = (of) => bench.log.appendResolution(of)) => {
        const log = { appendResolution: append } as typeof bench.log;
        return decideQuarantined({ pool, log, who: "cli:test" }, kind, quarantined);
      },
      audited: async () =>
        (
          await bench.rows<{ what: string }>(
            "select what from bellhop.audit_entry where detail ->> 'requestId' = $1 order by audit_id",
            [requestId],
          )
        ).map(({ what }) => what),
      /** As if the decision under way had been begun six minutes earlier: the id has the time. */
      age: () =>
        bench.rows(
          `update bellhop.quarantine set decided_by = (
            lpad(to_hex(('x' || lpad(left(replace(decided_by::text, '-', ''), 12), 16, '0'))::bit(64)::bigint - 360000), 12, '0')
            || right(replace(decided_by::text, '-', ''), 20)
          )::uuid where request_id = $1 and decided_by is not null`,
          [requestId],
        ),
      row: async () =>
        (
          await bench.rows<{ state: string; decided: boolean }>(
            "select state, decided_by is not null as decided from bellhop.quarantine where request_id = $1",
            [requestId],
          )
        )[0],
    };
  };
  const DISCARD = "discard-quarantined-record";
  const RELEASE = "release-quarantined-record";
  const VOID = "void-quarantine-decision";

  test("a decision is audited although every other connection ends after its append", async () => {
    const { decide, audited } = await held("Q-CUT");
    const entryId = await decide("discard", async (resolution) => {
      const appended = await bench.log.appendResolution(resolution);
      await withSession(bench.database.clientConfig, "test", (client) =>
        client.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state like 'idle in transaction%' and pid <> pg_backend_pid()`),
      );
      return appended;
    });
    assert.equal(await bench.outcomesOf(entryId ?? ""), "x");
    assert.deepEqual(await audited(), [DISCARD]);
  });

  test("a decision whose append has an unknown outcome is the only one if the log has it", async () => {
    const { decide, audited, age, row } = await held("Q-LOST");
    await bench.stopApplier();
    try {
      let entryId = "";
      const lost = decide("discard", async (resolution) => {
        entryId = await bench.log.appendResolution(resolution);
        throw new Error("Connection terminated unexpectedly");
      });
      await assert.rejects(lost, /unknown whether the decision was stored/);
      assert.equal(await decide("release"), undefined);
      // The log shows it, however late that is.
      await age();
      assert.equal(await decide("release"), undefined);
      assert.deepEqual(await audited(), [DISCARD]);
      bench.startApplier();
      assert.equal(await bench.outcomesOf(entryId), "x");
      assert.deepEqual(await row(), { state: "d", decided: false });
    } finally {
      await bench.stopApplier();
      bench.startApplier();
    }
  });

  test("a decision that was begun and never appended makes way for another, and the audit says so", async () => {
    const { decide, audited, age } = await held("Q-NEVER");
    await assert.rejects(
      decide("discard", () => Promise.reject(new Error("Connection terminated unexpectedly"))),
      /another can be made in 5 minutes/,
    );
    assert.equal(await decide("release"), undefined);
    await age();
    const entryId = await decide("discard");
    assert.equal(await bench.outcomesOf(entryId ?? ""), "x");
    assert.deepEqual(await audited(), [DISCARD, VOID, DISCARD]);
  });

  test("a decision that the log surely refused makes way at once", async () => {
    const { decide, audited } = await held("Q-REFUSED");
    const closed = await AcceptLog.open(bench.database.clientConfig, 1, {});
    await closed.close();
    await assert.rejects(
      decide("release", (of) => closed.appendResolution(of)),
      /not confirmed/,
    );
    const entryId = await decide("discard");
    assert.equal(await bench.outcomesOf(entryId ?? ""), "x");
    assert.deepEqual(await audited(), [RELEASE, VOID, DISCARD]);
  });

  test("holds a record from the future until it is released, once", async () => {
    const future = reservation("FUT", new Date(Date.now() + 3_600_000).toISOString(), "x");
    const requestId = await bench.accept([future]);
    assert.equal(await bench.outcomesOf(requestId), "q");
    assert.deepEqual(await keysOf("FUT"), []);
    assert.equal(await resolve("release", requestId), "a");
    assert.equal((await keysOf("FUT")).length, 1);
    const [row] = await bench.rows("select state, outcome from bellhop.quarantine where request_id = $1", [
      requestId,
    ]);
    assert.deepEqual(row, { state: "r", outcome: "a" });
  });

  test("a record nine minutes ahead is applied: clocks differ", async () => {
    const ahead = reservation("NINE", new Date(Date.now() + 9 * 60_000).toISOString(), "x");
    assert.equal(await bench.acceptAndApply([ahead]), "a");
  });

  test("discards a quarantined record permanently; a second decision changes nothing", async () => {
    const requestId = await bench.accept([
      reservation("DIS", new Date(Date.now() + 3_600_000).toISOString(), "x"),
    ]);
    assert.equal(await bench.outcomesOf(requestId), "q");
    const [quarantined] = await findQuarantined(bench.database.pool, requestId, 0);
    assert.equal(await resolve("discard", requestId), "x");
    const again = await bench.log.appendResolution({
      kind: "release",
      operator: "tester",
      bucket: quarantined?.bucket ?? -1,
      resource: "r",
      requestId,
      index: 0,
    });
    assert.equal(await bench.outcomesOf(again), "d");
    assert.deepEqual(await keysOf("DIS"), []);
  });

  test("omits a discarded record that the database would accept today", async () => {
    await bench.rows(`create function bellhop.refuse_bad() returns trigger language plpgsql as $$
      begin if new.key = 'BAD' then raise exception 'planted' using errcode = '22000'; end if; return new; end $$`);
    await bench.rows(`create trigger refuse_bad before insert on bellhop_state.reservation_version
      for each row execute function bellhop.refuse_bad()`);
    const requestId = await bench.accept([reservation("BAD", at(1), "x")]);
    assert.equal(await bench.outcomesOf(requestId), "q");
    assert.equal(await resolve("discard", requestId), "x");
    await bench.rows("drop trigger refuse_bad on bellhop_state.reservation_version");
    const report = await runReplay();
    assert.deepEqual(report.rebuilt, report.live);
  });

  test("rebuilds the same state from the log, releases and discards included", async () => {
    for (let round = 0; round < 10; round += 1) {
      await bench.accept(
        Array.from({ length: 20 }, (_, n) =>
          reservation(`R${n}`, at((round * 7 + n * 3) % 60), `v${(round * n) % 5}`, `P${n % 7}`),
        ),
      );
    }
    const last = await bench.accept([reservation("LAST", at(1), "x", "P1")]);
    await bench.outcomesOf(last);
    const report = await runReplay();
    assert.ok(report.live.versions > 100, `only ${report.live.versions} versions`);
    assert.deepEqual(report.rebuilt, report.live);
    assert.equal(report.equal, true);
    assert.deepEqual(
      await bench.rows("select nspname from pg_namespace where nspname like 'bellhop_replay%'"),
      [],
    );
  });

  test("derives by today's rules what was derived by earlier ones", async () => {
    const { pool } = bench.database;
    assert.equal(await derivationAdvice(pool), undefined);
    const rates = [{ rateValue: "60" }];
    const stay = { arrivalDate: "2026-05-01", departureDate: "2026-05-03", roomTypeCode: "DLX", rates };
    const sharer = {
      ...reservation("SHARER", at(1), "x"),
      numberOfRooms: 0,
      shareId: "S",
      roomStays: [stay],
    };
    await bench.acceptAndApply([sharer]);
    const roomsOf = () =>
      bench.rows(
        `select sum(rooms)::integer as rooms, sum(room_revenue)::float8 as revenue
        from ${nightEntriesOf("bellhop_state", "key = 'SHARER'")} as entry`,
      );
    assert.deepEqual(await roomsOf(), [{ rooms: 1, revenue: 60 }]);
    const knownBooks = () =>
      bench.rows(
        "select known.*, departure::text from bellhop_state.known_books as known order by property_id",
      );
    const known = await knownBooks();
    assert.ok(known.length > 0);
    await bench.rows(
      "update bellhop_state.known_books set departure = '1999-01-01', source_time = '1999-01-01Z'",
    );
    // As the rules before did: a sharer of 0 rooms had no room and no revenue.
    await bench.rows("update bellhop_state.night_entry set rooms = 0, room_revenue = 0 where key = 'SHARER'");
    await bench.rows("update bellhop.instance set value = '1' where name = 'ledger.derivation'");
    assert.match((await derivationAdvice(pool)) ?? "", /bellhop replay --swap/);
    assert.equal((await runReplay()).equal, false);
    assert.match((await derivationAdvice(pool)) ?? "", /bellhop replay --swap/);
    const { formerSchema } = await runReplay(true);
    await bench.rows(`drop schema ${formerSchema} cascade`);
    assert.deepEqual(await roomsOf(), [{ rooms: 1, revenue: 60 }]);
    assert.deepEqual(await knownBooks(), known);
    assert.equal(await derivationAdvice(pool), undefined);
  });

  test("finds a current record that differs from the log, and a lost version", async () => {
    await bench.rows(
      "update bellhop_state.current_record set record_index = record_index + 7 where key = 'R1'",
    );
    const report = await runReplay();
    assert.equal(report.equal, false);
    assert.equal(report.live.versionsHash, report.rebuilt.versionsHash);
    assert.notEqual(report.live.currentHash, report.rebuilt.currentHash);
    await bench.rows(
      "update bellhop_state.current_record set record_index = record_index - 7 where key = 'R1'",
    );
  });

  test("finds an entry of the ledger that is lost or too much", async () => {
    // Which of them R1 has depends on the order in which its versions came, and on Citus there are no exchanges.
    let spoilt = 0;
    for (const [table, set] of [
      ["night_entry", "rooms = rooms # 1"],
      ["ledger_delta", "runs[2] = runs[2] # (1::bigint << 22)"],
    ]) {
      const spoil = `update bellhop_state.${table} set ${set} where key = 'R1' and source_time =
        (select min(source_time) from bellhop_state.${table} where key = 'R1') returning key`;
      const rows = await bench.rows(spoil);
      if (rows.length === 0) continue;
      spoilt += 1;
      const report = await runReplay();
      assert.equal(report.equal, false);
      assert.equal(report.live.versionsHash, report.rebuilt.versionsHash);
      assert.notEqual(report.live.nightsHash, report.rebuilt.nightsHash);
      await bench.rows(spoil);
    }
    assert.ok(spoilt > 0);
    // Whatever was spoilt until here is as it was.
    assert.equal((await runReplay()).equal, true);
  });

  test("swaps in the rebuilt state, keeps every change number, and numbers its corrections", async () => {
    const versionsBefore = await bench.rows(
      "select bucket, key, source_time::text, change_no, outcome from bellhop_state.reservation_version where key <> 'R2' order by 1, 2, 3, 4",
    );
    // The live state is spoilt: R2's newest content is replaced by another that the log does not know.
    await bench.rows(`update bellhop_state.current_record set content_hash = '\\x00' where key = 'R2'`);
    const [counterBefore] = await bench.rows<{ sum: number }>(
      "select sum(next_change)::int as sum from bellhop.change_counter",
    );
    const storage = `select relname, reloptions from pg_class where relnamespace = 'bellhop_state'::regnamespace order by 1`;
    const storageBefore = await bench.rows(storage);
    const report = await runReplay(true);
    assert.equal(report.swapped, true);
    assert.equal(report.corrected, 1);
    assert.deepEqual(await bench.rows(storage), storageBefore);
    const versionsAfter = await bench.rows(
      "select bucket, key, source_time::text, change_no, outcome from bellhop_state.reservation_version where key <> 'R2' order by 1, 2, 3, 4",
    );
    assert.deepEqual(versionsAfter, versionsBefore);
    const [counterAfter] = await bench.rows<{ sum: number }>(
      "select sum(next_change)::int as sum from bellhop.change_counter",
    );
    assert.equal(counterAfter?.sum, (counterBefore?.sum ?? 0) + 1);
    // The applier goes on, on the new tables.
    assert.equal(await bench.acceptAndApply([reservation("AFTER", at(1), "x", "P1")]), "a");
    assert.equal((await keysOf("AFTER")).length, 1);
    assert.equal((await runReplay()).equal, true);
  });

  test("a node that reads shards during the swap misses no table", async (t) => {
    if (!(await isOnCitus())) return t.skip("Only Citus has shards.");
    const { clientConfig } = bench.database;
    const map = await ShardMap.draw(clientConfig);
    await withSession(clientConfig, "reads meanwhile", async (client) => {
      await client.query(
        "begin isolation level repeatable read; set local idle_in_transaction_session_timeout = 0; select 1",
      );
      assert.equal((await runReplay(true)).swapped, true);
      await map.look(client);
    });
    for (const { shards } of map.workers.flatMap(({ groups }) => groups))
      assert.deepEqual(Object.keys(shards).sort(), [...DISTRIBUTED_TABLES].sort());
  });

  test("quarantines only a record that replaces missing content, until a replay and a release", async () => {
    await bench.acceptAndApply([reservation("GONE", at(1), "x"), reservation("KEPT", at(1), "x")]);
    await bench.rows("delete from bellhop_state.reservation_version where key = 'GONE'");
    await bench.rows("update bellhop_state.current_record set compact_nights = null where key = 'GONE'");
    const later = [reservation("KEPT", at(2), "y"), reservation("NEW", at(2), "x")];
    const requestId = await bench.accept([reservation("GONE", at(2), "y"), ...later]);
    assert.equal(await bench.outcomesOf(requestId), "qaa");
    assert.equal(
      (await findQuarantined(bench.database.pool, requestId, 0))[0]?.item.code,
      "state.incomplete",
    );
    assert.equal(await resolve("release", requestId), "q");
    const { swapped } = await runReplay(true);
    assert.ok(swapped);
    assert.equal(await resolve("release", requestId), "a");
    const [channel] = await bench.rows(
      `select facts.channel, (select sum(rooms)::integer from ${nightEntriesOf("bellhop_state")} as entry where key = 'GONE') as rooms
       from bellhop_state.current_record c join analytics.stored_reservation_version facts
         on facts.bucket = c.bucket and facts.property_id = c.property_id and facts.key = c.key
         and facts.source_time = c.facts_source_time and facts.content_hash = c.content_hash
       where c.key = 'GONE'`,
    );
    assert.deepEqual(channel, { channel: "y", rooms: 1 });
    assert.ok((await runReplay()).equal);
  });

  test("swaps while batches arrive, and loses none", async () => {
    let stop = false;
    const ids: string[] = [];
    const sender = (async () => {
      for (let n = 0; !stop; n += 1) {
        ids.push(await bench.accept([reservation(`LIVE${n % 50}`, at(n % 60), `v${n % 7}`, `P${n % 9}`)]));
        // As fast as they are applied: however long the replay takes, it does not have the more to do for that.
        const applied = ids.at(-20);
        if (applied !== undefined) await bench.outcomesOf(applied);
      }
    })();
    const report = await runReplay(true);
    stop = true;
    await sender;
    assert.equal(report.swapped, true);
    for (const id of ids) await bench.outcomesOf(id);
    assert.equal((await runReplay()).equal, true);
  });
});
