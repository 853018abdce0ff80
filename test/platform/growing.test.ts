import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { distributeTables } from "../support/citus.ts";
import { createJoinedDatabase, type TestDatabase } from "../support/database.ts";
import { reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import { until } from "../support/until.ts";

const WAIT_MS = 400_000;
/** Something waits to be applied at all times, and never more than is applied in moments. */
const WAITING_PARTS = 40;
const HOTELS = Array.from({ length: 12 }, (_, n) => `HOTEL${n}`);
/** Hotels that the batches of each sender are of: of one, of all, and of a few under a key. */
const SENDERS = [HOTELS.slice(0, 1), HOTELS, HOTELS.slice(3, 6)];

const joined = await createJoinedDatabase({ workersMax: 1 });

/** Sends one batch after another until it is stopped, as fast as they are applied, and again what was refused for now. */
class Sender {
  readonly accepted: string[] = [];
  readonly waits: string[] = [];
  readonly #service: TestService;
  readonly #hotels: readonly string[];
  readonly #name: number;
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(service: TestService, name: number, hotels: readonly string[]) {
    this.#service = service;
    this.#name = name;
    this.#hotels = hotels;
    this.#running = this.#send();
  }

  async #send(): Promise<void> {
    for (let round = 0; !this.#stopped; round += 1) {
      const batch = this.#hotels.map((propertyCode) =>
        reservation(`S${this.#name}-${round}`, "2026-01-01T00:00:00Z", { propertyCode }),
      );
      const headers = this.#name === 2 ? { "idempotency-key": `round-${round}` } : {};
      for (;;) {
        const answer = await this.#service.post("reservations", batch, { headers });
        if (answer.status === 202) {
          this.accepted.push(String(answer.json()["requestId"]));
          break;
        }
        assert.equal(answer.status, 503, answer.text);
        const seconds = answer.headers.get("retry-after") ?? "";
        this.waits.push(seconds);
        await delay(Number(seconds) * 1_000);
      }
      await until(async () => (await unappliedParts(this.#service.database)) < WAITING_PARTS, WAIT_MS);
    }
  }

  get records(): number {
    return this.accepted.length * this.#hotels.length;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}

const [spare] = joined?.spare ?? [];
if (joined !== undefined && spare === undefined) {
  await joined.drop();
  test.skip("A cluster grows where there is a second worker.");
}
if (joined !== undefined && spare !== undefined)
  describe("a cluster that grows while batches are sent", () => {
    let database: TestDatabase;
    let service: TestService;
    let senders: Sender[];
    before(async () => {
      database = joined.open();
      const first = await startTestService({}, { database });
      assert.equal(
        (await first.post("reservations", [reservation("before", "2026-01-01T00:00:00Z")])).status,
        202,
      );
      await first.stop();
      await distributeTables(database.clientConfig);
      service = await startTestService({}, { database });
      senders = SENDERS.map((hotels, name) => new Sender(service, name, hotels));
    });
    after(async () => {
      await service?.stop();
      await database.drop();
    });

    /** By worker, the shards that stand for all tables. */
    const placement = async () => {
      const { rows } = await database.pool.query<{ shard: string; port: number }>(
        `select shardid::text as shard, nodeport as port from pg_dist_shard_placement join pg_dist_shard using (shardid)
        where logicalrelid = 'bellhop.bucket_lease'::regclass order by shardid`,
      );
      return rows;
    };
    const untilAllSent = async () => {
      const sent = senders.map(({ accepted }) => accepted.length);
      await until(
        async () => senders.every(({ accepted }, at) => accepted.length > (sent[at] ?? 0) + 3),
        WAIT_MS,
      );
    };

    test("an added worker receives half of the shards", async () => {
      await untilAllSent();
      await database.pool.query("select citus_add_node($1, $2)", [spare.nodename, spare.nodeport]);
      await untilAllSent();
      await database.pool.query("select citus_rebalance_start(shard_transfer_mode => 'auto')");
      const moved = async () =>
        (await placement()).filter(({ port }) => port === spare.nodeport).length === 2;
      await until(moved, WAIT_MS);
      await untilAllSent();
    });

    test("a shard is moved back", async () => {
      const places = await placement();
      const away = places.find(({ port }) => port === spare.nodeport) ?? assert.fail();
      const home = places.find(({ port }) => port !== spare.nodeport) ?? assert.fail();
      await database.pool.query(
        "select citus_move_shard_placement($1, $2, $3, $2, $4, shard_transfer_mode => 'auto')",
        [away.shard, spare.nodename, away.port, home.port],
      );
      await untilAllSent();
    });

    test("nothing is lost or doubled, and a refusal lasts a second", async () => {
      for (const sender of senders) await sender.stop();
      await until(async () => (await unappliedParts(database)) === 0, WAIT_MS);
      const { rows: counts } = await database.pool.query<{ current: number; versions: number }>(
        `select (select count(*)::integer from bellhop_state.current_record) as current,
          (select count(*)::integer from bellhop_state.reservation_version) as versions`,
      );
      const sent = senders.reduce((sum, { records }) => sum + records, 1);
      assert.deepEqual(counts, [{ current: sent, versions: sent }]);
      const { rows } = await database.pool.query<{ id: string }>(
        "select distinct request_id::text as id from bellhop.accept_log where client_id = $1",
        [service.client.clientId],
      );
      assert.deepEqual(rows.map(({ id }) => id).sort(), senders.flatMap(({ accepted }) => accepted).sort());
      assert.deepEqual(
        [...new Set(senders.flatMap(({ waits }) => waits))].filter((seconds) => seconds !== "1"),
        [],
      );
    });
  });
