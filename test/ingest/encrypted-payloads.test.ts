import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { zstdDecompressSync } from "node:zlib";
import { replay } from "../../src/apply/replay.ts";
import { payloadKeyIdOf } from "../../src/ingest/log/encrypt-body.ts";
import { payloadKeyFinder } from "../../src/ingest/log/payload-keys.ts";
import { openBackupFile } from "../../src/operations/backup/backup-file.ts";
import { writeBackup } from "../../src/operations/backup/write-backup.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { withTransaction } from "../../src/platform/db/transaction.ts";
import { type PartKey, rewritePart } from "../../src/retention/rewrite-log.ts";
import { bellhop } from "../support/command.ts";
import { withoutProgress } from "../support/command-lines.ts";
import { createEmptyTestDatabase, createTestDatabase, type TestDatabase } from "../support/database.ts";
import { runWith } from "../support/erasure-fixture.ts";
import { type LooseRecord, reservationRecord } from "../support/records.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { type ConfigOverrides, startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const WAIT_MS = 60_000;
const GUEST = "Leopoldine Abendrot";
const NAME = "Wilhelmina Quesada-Throckmorton";
const keyEncryptionKey = randomBytes(32).toString("base64");
const ENCRYPTED: ConfigOverrides = { keyEncryptionKey, encryptPayloads: true };

/** One who is to be forgotten; each copy has another content. */
const leopoldine = (numberOfRooms: number): LooseRecord =>
  reservationRecord({
    reservationId: "R-LEO",
    lastModifiedDateTime: `2026-03-01T10:0${numberOfRooms}:00Z`,
    numberOfRooms,
    profiles: [{ id: "P-LEO", name: GUEST, profileType: "GUEST" }],
  });

/** Runs `bellhop …` in a process that has met no key. */
const runBellhop = (environment: Record<string, string>, ...args: string[]) =>
  new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
    const env = { PATH: process.env["PATH"], ...environment };
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err: withoutProgress(err) }),
    );
  });

/** Reservations with a guest's name: of one record, of one chunk that is packed, and of several chunks. */
const batch = (prefix: string, count: number): LooseRecord[] =>
  Array.from({ length: count }, (_, n) =>
    reservationRecord({
      reservationId: `${prefix}-${n}`,
      profiles: [{ id: `P-${prefix}-${n}`, name: `${NAME} ${n}`, profileType: "GUEST", context: "Guest" }],
    }),
  );

describe("batches that are encrypted in the log", () => {
  let database: TestDatabase;
  let service: TestService;
  const sent: { requestId: string; records: LooseRecord[] }[] = [];
  before(async () => {
    database = await createTestDatabase();
    // What was accepted before encryption was switched on.
    const readable = await startTestService({}, { database });
    await post(readable, batch("BEFORE", 100));
    await readable.stop();
    service = await startTestService(ENCRYPTED, { database });
  });
  after(async () => {
    await service.stop();
    await database.drop();
  });

  async function post(on: TestService, records: LooseRecord[]): Promise<string> {
    const answer = await on.post("reservations", records);
    assert.equal(answer.status, 202, answer.text);
    const requestId = String(answer.json()["requestId"]);
    const status = `/api/public/v1/requests/${requestId}`;
    await until(async () => (await on.get(status)).json()["status"] === "applied", WAIT_MS);
    sent.push({ requestId, records });
    return requestId;
  }

  const readOne = (id: string) =>
    service.get(`/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01&reservationId=${id}`);

  const keysOfLog = async (): Promise<(string | undefined)[]> => {
    const { rows } = await database.pool.query<{ layout: Buffer }>(
      "select layout from bellhop.accept_log where kind = 'b' order by request_id",
    );
    return rows.map(({ layout }) => payloadKeyIdOf(layout));
  };

  test("are applied and read back verbatim, beside earlier ones", async () => {
    for (const count of [1, 60, 300]) await post(service, batch(`ENCRYPTED${count}`, count));
    for (const { records } of sent) {
      for (const place of [0, records.length - 1]) {
        const id = (records[place] as LooseRecord)["reservationId"];
        const answer = await readOne(String(id));
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(answer.json()["items"], [records[place]]);
      }
    }
    const keys = await keysOfLog();
    assert.deepEqual([keys.length, keys[0], new Set(keys.slice(1)).size], [4, undefined, 1]);
  });

  test("show nothing of a record to whoever has the database alone, packed or not", async () => {
    const { rows } = await database.pool.query<{ layout: Buffer; body: Buffer; raw: string }>(
      "select layout, body from bellhop.accept_log where kind = 'b' order by request_id",
    );
    const shows = rows.map(({ layout, body }) => {
      const plain = body.includes(NAME);
      // The chunk of a part that is stored readable is a frame of its own.
      const first = body.subarray(0, layout.readUInt32LE(8));
      try {
        return plain || zstdDecompressSync(first).includes(NAME);
      } catch {
        return plain;
      }
    });
    assert.deepEqual(shows, [true, false, false, false]);
  });

  test("go on under another key after a rotation, by hand or of age, and those before stay readable", async () => {
    const run = async (...args: string[]) => {
      const { internals } = service.service.authenticator;
      const admin = { internals, who: "cli:test" };
      const { code, out, err } = await bellhop(["payload-key", ...args], {}, admin);
      assert.equal(code, 0, err);
      return JSON.parse(out) as {
        key_id: string;
        keys: { key_id: string; retired_at: string | null }[];
      };
    };
    const former = (await keysOfLog()).at(-1);
    const { key_id } = await run("rotate", "--json");
    assert.notEqual(key_id, former);
    let count = 0;
    await until(async () => {
      count += 1;
      await post(service, batch(`ROTATED${count}`, 70));
      return (await keysOfLog()).at(-1) === key_id;
    }, WAIT_MS);
    await database.pool.query("update bellhop.payload_key set created_at = created_at - interval '91 days'");
    await service.stop();
    service = await startTestService({ ...ENCRYPTED, payloadKeyRotationDays: 90 }, { database });
    await post(service, batch("AGED", 70));
    const aged = (await keysOfLog()).at(-1);
    assert.equal(new Set([former, key_id, aged]).size, 3);
    const { keys } = await run("list", "--json");
    assert.deepEqual(
      keys.map((key) => [key.key_id, key.retired_at === null]),
      [
        [aged, true],
        [key_id, false],
        [former, false],
      ],
    );
  });

  test("replay to the same state", async () => {
    const report = await replay({ clientConfig: database.clientConfig, pool: database.pool, swap: false });
    assert.equal(report.equal, true);
    assert.ok(report.parts >= 6);
  });

  test("are missed at once where their key is not set: nothing starts, and no replay begins", async () => {
    const asksForKey = /is encrypted in the database: set KEY_ENCRYPTION_KEY/;
    await assert.rejects(startTestService({}, { database }), asksForKey);
    const { code, out, err } = await runBellhop({ DATABASE_URL: database.url }, "replay");
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^bellhop: payload key \S+ is encrypted in the database: set KEY_ENCRYPTION_KEY/);
    const schemas = await database.pool.query(
      "select from pg_namespace where nspname like 'bellhop_%replay%'",
    );
    assert.equal(schemas.rowCount, 0);
  });

  test("are redacted by an erasure; restored from an earlier backup they are redacted by the list, and need only their key", async () => {
    const directory = await temporaryDirectory("encrypted");
    const restored = await createEmptyTestDatabase();
    try {
      await post(service, [leopoldine(1)]);
      await post(service, [...batch("BESIDE", 59), leopoldine(2)]);
      await post(service, [...batch("AMONG", 150), leopoldine(3), ...batch("AFTER", 150)]);
      const placesIn = ({ pool }: Pick<TestDatabase, "pool">) =>
        searchEverywhere(pool, GUEST, payloadKeyFinder(pool, createSecretCipher(keyEncryptionKey)));
      assert.equal((await placesIn(database)).filter((place) => place.startsWith("inflated")).length, 3);
      const sink = await openBackupFile(join(directory, "encrypted.tar"), Date.now());
      const { manifest } = await writeBackup({
        clientConfig: database.clientConfig,
        withState: false,
        sink,
      });
      const environment = { DATABASE_URL: database.url, KEY_ENCRYPTION_KEY: keyEncryptionKey };
      const list = join(directory, "erasures");
      const subject = ["--reservation", "ACME/LON01/R-LEO", "--reason", "x"];
      const erased = await runWith(environment, "run", ...subject);
      assert.equal(erased.code, 0, erased.err);
      assert.equal((await runWith(environment, "export", list)).code, 0);
      assert.deepEqual(await placesIn(database), []);
      assert.ok((await keysOfLog()).slice(1).every((key) => key !== undefined));
      assert.equal((await replay({ ...database, swap: false })).equal, true);

      const from = [sink.name, "--erasures", list, "--into", restored.url, "--json"];
      const without = await runBellhop({}, "restore", ...from);
      assert.deepEqual([without.code, without.out], [1, ""]);
      assert.match(
        without.err,
        /^bellhop: Batches in the backup are encrypted .* nothing was restored: payload key \S+ is encrypted in the database: set KEY_ENCRYPTION_KEY/m,
      );
      const schemas = await restored.pool.query("select from pg_namespace where nspname like 'bellhop%'");
      assert.equal(schemas.rowCount, 0);
      const { code, out, err } = await runBellhop(
        { KEY_ENCRYPTION_KEY: keyEncryptionKey },
        "restore",
        ...from,
      );
      assert.equal(code, 0, err);
      const { equal, rebuilt } = JSON.parse(out) as { equal: boolean; rebuilt: unknown };
      assert.deepEqual([equal, rebuilt], [true, manifest.state]);
      assert.deepEqual(await placesIn(restored), []);
    } finally {
      await restored.drop();
      await rm(directory, { recursive: true });
    }
  });

  test("stay encrypted when rewritten: after an erasure under their previous key", async () => {
    const requestId = await post(service, batch("ANEW", 70));
    const { rows } = await database.pool.query<PartKey>(
      `select bucket, log_writer_id::text as "logWriterId", request_id as "requestId" from bellhop.accept_log where request_id = $1`,
      [requestId],
    );
    const [part = assert.fail()] = rows;
    const former = (await keysOfLog()).at(-1);
    const kept = JSON.stringify(reservationRecord({ reservationId: "ANEW-3" }));
    const isRewritten = await withTransaction(database.pool, (client) =>
      rewritePart(client, part, ({ index }) =>
        index === 3
          ? { bytes: Buffer.from(kept), contentHash: "0".repeat(32) }
          : index === 4
            ? "drop"
            : "keep",
      ),
    );
    assert.equal(isRewritten, true);
    assert.equal((await keysOfLog()).at(-1), former);
    assert.deepEqual((await readOne("ANEW-3")).json()["items"], [JSON.parse(kept)]);
    assert.ok((await readOne("ANEW-5")).text.includes(NAME));
  });

  test("are bound to their place: an exchanged part is not returned", async () => {
    const [one, other] = [await post(service, batch("MINE", 70)), await post(service, batch("YOURS", 70))];
    const moved = await database.pool.query(
      `update bellhop.accept_log as to_part set layout = from_part.layout, body = from_part.body
       from bellhop.accept_log as from_part where from_part.request_id = $1 and to_part.request_id = $2 and from_part.bucket = to_part.bucket`,
      [one, other],
    );
    assert.equal(moved.rowCount, 1);
    assert.equal((await readOne("MINE-0")).status, 200);
    // A page that has begun is cut off.
    const answer = await readOne("YOURS-0").catch(() => undefined);
    assert.ok(answer === undefined || answer.status === 500, answer?.text);
    assert.equal(answer?.text.includes(NAME) ?? false, false);
  });
});
