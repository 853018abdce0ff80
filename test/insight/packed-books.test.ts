import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { deleteSegments, lockSegments } from "../../src/apply/ledger/write-ledger.ts";
import { openStateSession } from "../../src/apply/state/look-up.ts";
import { LedgerPacker, packUpTo } from "../../src/insight/pack-ledger.ts";
import { DIMENSIONS_MAX, readPackedBooks, SEGMENTS_BYTES_MAX } from "../../src/insight/packed-books.ts";
import { onQueryContext } from "../../src/insight/query-context.ts";
import { BY, CLOCKS, type StayQuestion } from "../../src/insight/question.ts";
import { withTransaction } from "../../src/platform/db/transaction.ts";
import {
  addProperty,
  below,
  DAYS,
  FIRST_NIGHT,
  insightItems,
  randomBlocks,
  randomVersions,
} from "../support/insight-fixture.ts";
import { writeBlocks, writeNights } from "../support/insight-model.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { dateOfDay } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_122);
/** Of a property ($1) of a bucket ($2), how many entries can be packed: rows, and runs of exchanges. */
const PACKABLE = `(
  select count(*) as count from bellhop_state.night_entry where bucket = $2 and property_id = $1 and nights <= 31
  union all
  select sum(cardinality(runs) / 4) from bellhop_state.ledger_delta where bucket = $2 and property_id = $1 and nights <= 31
) as entry`;

/** Nights around all that is booked, and from or to the midst of it: so many that segments are read. */
function rangesOf(random: SeededRandom) {
  const [before, inside, behind] = [-100, below(random, DAYS), DAYS + 100];
  return [
    [before, behind],
    random.pick([
      [before, inside],
      [inside, behind],
    ]),
  ].map(([first = 0, last = 0]) => ({
    from: dateOfDay(FIRST_NIGHT + first),
    to: dateOfDay(FIRST_NIGHT + last),
  }));
}

function unexpected(error: unknown): never {
  throw error;
}

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

type Place = Awaited<ReturnType<typeof addProperty>>;

/** What is on the books of some nights by these groupings, at instants of both clocks and as of all. */
async function answers(
  propertyCode: string,
  random: SeededRandom,
  groupings: readonly string[] = BY,
): Promise<(readonly unknown[])[]> {
  const reported: (readonly unknown[])[] = [];
  for (const by of groupings)
    for (const clock of CLOCKS) {
      const asOf = new Date(Date.UTC(2026, 2, 1) + below(random, 4_400) * 3_600_000).toISOString();
      for (const at of clock === "source" ? [{}, { asOf }] : [{ asOf }]) {
        for (const range of rangesOf(random)) {
          const question = { clientCode: "ACME", propertyCode, ...range, by, clock, ...at };
          reported.push(await insightItems(service, "on-the-books", question));
        }
      }
    }
  return reported;
}

/** The same from rows: nobody else segments meanwhile. */
async function answersOfRows({ propertyId }: Place, ...asked: Parameters<typeof answers>) {
  const { rows } = await service.pool.query(
    "select bucket, property_id, received_up_to::text from bellhop_state.ledger_segment_progress where property_id = $1",
    [propertyId],
  );
  await service.pool.query("delete from bellhop_state.ledger_segment_progress where property_id = $1", [
    propertyId,
  ]);
  const reported = await answers(...asked);
  await service.pool.query(
    `insert into bellhop_state.ledger_segment_progress
     select bucket, property_id, received_up_to
     from json_to_recordset($1) as kept (bucket smallint, property_id integer, received_up_to timestamptz)`,
    [JSON.stringify(rows)],
  );
  return reported;
}

async function segmentsOf({ bucket, propertyId }: Place) {
  const { rows } = await service.pool.query<{
    segments: number;
    entries: number;
    rows: number;
    progress: number;
  }>(
    `select count(*)::integer as segments, coalesce(sum(entries), 0)::integer as entries,
       (select sum(count)::integer from ${PACKABLE}) as rows,
       (select count(*)::integer from bellhop_state.ledger_segment_progress where bucket = $2 and property_id = $1) as progress
     from bellhop_state.ledger_segment where bucket = $2 and property_id = $1`,
    [propertyId, bucket],
  );
  return rows[0] ?? assert.fail();
}

test("a packed ledger answers what its rows do, at any instant of either clock, however far it is packed", async () => {
  const random = SeededRandom.stream(SEED, 300);
  const place = await addProperty(service, "PACKED");
  await writeNights(service.pool, place, randomVersions(random, 60));
  await writeBlocks(service.pool, place, randomBlocks(random, 5));
  const agree = async (groupings: readonly string[]) => {
    const seed = below(random, 1_000_000);
    const packed = await answers("PACKED", SeededRandom.stream(seed, 1), groupings);
    const asRows = await answersOfRows(place, "PACKED", SeededRandom.stream(seed, 1), groupings);
    assert.deepEqual(packed, asRows);
    assert.ok(asRows.some((items) => items.length > 200));
  };
  // From March to August, in so many steps that what is small is put together.
  for (let day = 0; day < 160; day += 8) {
    const upTo = new Date(Date.UTC(2026, 2, 1 + day)).toISOString();
    await withTransaction(service.pool, async (client) => {
      await lockSegments(client, place);
      await packUpTo(client, place, upTo);
    });
    if (day % 40 === 0) await agree([random.pick(BY)]);
  }
  const before = await segmentsOf(place);
  assert.ok(before.entries > 0 && before.entries < before.rows);
  await new LedgerPacker(service.pool, unexpected).pack();
  const whole = await segmentsOf(place);
  assert.equal(whole.entries, whole.rows);
  assert.ok(whole.segments < 40, `${whole.segments} segments`);
  await agree(BY);
  // Without what is packed the answers are others: it is what was read.
  const reported = await answers("PACKED", SeededRandom.stream(SEED, 1), ["roomType"]);
  await service.pool.query("update bellhop_state.ledger_segment set packed = '' where property_id = $1", [
    place.propertyId,
  ]);
  assert.notDeepEqual(await answers("PACKED", SeededRandom.stream(SEED, 1), ["roomType"]), reported);
});

test("a ledger with numbers that do not fit is not packed, and answers as it did", async () => {
  const random = SeededRandom.stream(SEED, 400);
  const place = await addProperty(service, "ODD");
  const versions = randomVersions(random, 20);
  await writeNights(service.pool, place, versions);
  await service.pool.query(
    `update bellhop_state.night_entry set room_revenue = 0.00001 where bucket = $2 and ctid =
       (select ctid from bellhop_state.night_entry where bucket = $2 and property_id = $1 and nights <= 31 limit 1)`,
    [place.propertyId, place.bucket],
  );
  const seed = below(random, 1_000_000);
  const before = await answers("ODD", SeededRandom.stream(seed, 1), ["roomType"]);
  await new LedgerPacker(service.pool, unexpected).pack();
  const { segments, progress } = await segmentsOf(place);
  assert.deepEqual([segments, progress], [0, 0]);
  assert.deepEqual(await answers("ODD", SeededRandom.stream(seed, 1), ["roomType"]), before);
});

test("what records do after the packing is on the books at once, and packed the next time", async () => {
  const codes = { clientCode: "ACME", propertyCode: "LIVE" };
  const stayOf = (roomTypeCode: string, status: string) => ({
    propertyCode: "LIVE",
    status,
    roomStays: [{ arrivalDate: "2026-07-13", departureDate: "2026-07-16", roomTypeCode }],
  });
  const ask = async () => {
    const question = { ...codes, from: "2026-06-01", to: "2026-08-31", by: "roomType" };
    const items = await insightItems(service, "on-the-books", question);
    return items.map(({ stayDate, roomType, rooms }) => `${stayDate} ${roomType} ${rooms}`);
  };
  const nightsOf = (roomType: string) => ["13", "14", "15"].map((day) => `2026-07-${day} ${roomType} 1`);
  const packer = new LedgerPacker(service.pool, unexpected);
  await apply(service, "reservations", [
    reservation("l1", "2026-03-01T00:00:00Z", stayOf("DLX", "CONFIRMED")),
  ]);
  await packer.pack();
  assert.deepEqual(await ask(), nightsOf("DLX"));
  await apply(service, "reservations", [
    reservation("l1", "2026-03-02T00:00:00Z", stayOf("STD", "CONFIRMED")),
  ]);
  assert.deepEqual(await ask(), nightsOf("STD"));
  // An older version that comes late changes what was, and not what is.
  await apply(service, "reservations", [
    reservation("l1", "2026-03-01T12:00:00Z", stayOf("DLX", "CANCELLED")),
  ]);
  assert.deepEqual(await ask(), nightsOf("STD"));
  await packer.pack();
  assert.deepEqual(await ask(), nightsOf("STD"));
});

test("an entry with an old receipt removes the segments, and waits for a running packer", async () => {
  const random = SeededRandom.stream(SEED, 500);
  const place = await addProperty(service, "VOID");
  await writeNights(service.pool, place, randomVersions(random, 20));
  const packer = new LedgerPacker(service.pool, unexpected);
  await packer.pack();
  assert.equal((await segmentsOf(place)).progress, 1);
  const applier = await service.pool.connect();
  const order: string[] = [];
  try {
    await openStateSession(applier, "bellhop_state");
    let voided: Promise<void> | undefined;
    await withTransaction(service.pool, async (client) => {
      await lockSegments(client, place);
      await applier.query("begin");
      voided = deleteSegments(applier, [place]).then(() => void order.push("voided"));
      await until(async () => {
        const { rows } = await service.pool.query<{ waits: boolean }>(
          "select exists (select from pg_locks where locktype = 'advisory' and not granted) as waits",
        );
        return rows[0]?.waits === true;
      }, 60_000);
      order.push("packed");
    });
    await voided;
    await applier.query("commit");
  } finally {
    applier.release(true);
  }
  assert.deepEqual(order, ["packed", "voided"]);
  const { segments, progress } = await segmentsOf(place);
  assert.deepEqual([segments, progress], [0, 0]);
  await packer.pack();
  const again = await segmentsOf(place);
  assert.deepEqual([again.entries, again.progress], [again.rows, 1]);
});

test("a property that cannot be packed is reported, and keeps no other from it", async () => {
  const random = SeededRandom.stream(SEED, 600);
  const [stuck, next] = [await addProperty(service, "STUCK"), await addProperty(service, "NEXT")];
  for (const place of [stuck, next]) await writeNights(service.pool, place, randomVersions(random, 20));
  await new LedgerPacker(service.pool, unexpected).pack();
  const packedUpTo = async ({ propertyId }: Place) => {
    const { rows } = await service.pool.query<{ at: Date }>(
      "select received_up_to as at from bellhop_state.ledger_segment_progress where property_id = $1",
      [propertyId],
    );
    return rows[0]?.at.getTime() ?? assert.fail();
  };
  const [stuckAt, nextAt] = [await packedUpTo(stuck), await packedUpTo(next)];
  const failures: unknown[] = [];
  const sessions: pg.Client[] = [];
  const packer = new LedgerPacker(
    service.pool,
    (error) => failures.push(error),
    async () => {
      const session = new pg.Client({ ...service.database.clientConfig, lock_timeout: 200 });
      sessions.push(session);
      await session.connect();
      return session;
    },
  );
  await withTransaction(service.pool, async (client) => {
    await lockSegments(client, stuck);
    await packer.pack();
  });
  assert.deepEqual(
    failures.map((error) => (error as pg.DatabaseError).code),
    ["55P03"],
  );
  assert.equal(await packedUpTo(stuck), stuckAt);
  assert.ok((await packedUpTo(next)) > nextAt);
  // Who was passed over is found again, though nothing of it was received since.
  await packer.pack();
  assert.ok((await packedUpTo(stuck)) > stuckAt);
  assert.equal(failures.length, 1);
  assert.equal(sessions.length, 3);
});

test("a stopping packer does not finish its work", async () => {
  const place = await addProperty(service, "STOPPED");
  await writeNights(service.pool, place, randomVersions(SeededRandom.stream(SEED, 700), 20));
  const packer = new LedgerPacker(service.pool, unexpected, async () => {
    const session = new pg.Client(service.database.clientConfig);
    session.on("error", () => undefined);
    await session.connect();
    return session;
  });
  await withTransaction(service.pool, async (client) => {
    await lockSegments(client, place);
    const packing = packer.pack();
    await until(async () => {
      const { rows } = await service.pool.query<{ waits: boolean }>(
        "select exists (select from pg_locks where locktype = 'advisory' and not granted) as waits",
      );
      return rows[0]?.waits === true;
    }, 60_000);
    packer.stop();
    await packing;
  });
  assert.equal((await segmentsOf(place)).progress, 0);
});

test("dimensions and segments that are too many for a thread are left to the database", async () => {
  const place = await addProperty(service, "LARGE");
  await writeNights(service.pool, place, randomVersions(SeededRandom.stream(SEED, 800), 20));
  await new LedgerPacker(service.pool, unexpected).pack();
  const window = { first: dateOfDay(FIRST_NIGHT - 60), last: dateOfDay(FIRST_NIGHT + DAYS) };
  const question: StayQuestion = {
    ...{ clientCode: "ACME", propertyCode: "LARGE", property: place, from: window.first, to: window.last },
    ...{ by: "none", clock: "source", asOf: null },
  };
  const isRead = async () => {
    const { answer } = await onQueryContext(service.pool, question, (client, queryContext) =>
      readPackedBooks(client, question, queryContext, window, null, 1_000),
    );
    return answer !== undefined;
  };
  assert.ok(await isRead());
  const { bucket, propertyId } = place;
  await service.pool.query(
    `insert into bellhop_state.night_dimension (bucket, property_id, dimension, status, rate_code)
    select $1, $2, number, 'Reserved', 'R' || number from generate_series(1, $3::integer) as number`,
    [bucket, propertyId, DIMENSIONS_MAX],
  );
  assert.ok(!(await isRead()));
  await service.pool.query(
    "delete from bellhop_state.night_dimension where bucket = $1 and property_id = $2 and dimension between 1 and $3",
    [bucket, propertyId, DIMENSIONS_MAX],
  );
  assert.ok(await isRead());
  await service.pool.query(
    `insert into bellhop_state.ledger_segment (bucket, property_id, quarter, received_up_to, entries, packed)
    select $1, $2, date_trunc('quarter', $3::date), '2000-01-01Z', 0, convert_to(repeat('0', $4::integer), 'UTF8')`,
    [bucket, propertyId, window.last, SEGMENTS_BYTES_MAX],
  );
  assert.ok(!(await isRead()));
});

test("entries that are too many for one segment are packed in stretches", async () => {
  const place = await addProperty(service, "STRETCHES");
  await writeNights(service.pool, place, randomVersions(SeededRandom.stream(SEED, 900), 40));
  const { rows: entries } = await segmentsOf(place);
  await withTransaction(service.pool, async (client) => {
    await lockSegments(client, place);
    await packUpTo(client, place, "2026-12-01T00:00:00Z", Math.ceil(entries / 5));
  });
  assert.equal((await segmentsOf(place)).entries, entries);
  const { rows } = await service.pool.query<{ stretches: number; progress: Date }>(
    `select count(distinct segment.received_up_to)::integer as stretches, max(progress.received_up_to) as progress
    from bellhop_state.ledger_segment as segment join bellhop_state.ledger_segment_progress as progress using (bucket, property_id)
    where property_id = $1`,
    [place.propertyId],
  );
  assert.ok((rows[0]?.stretches ?? 0) >= 3, `${rows[0]?.stretches} stretches`);
  assert.equal(rows[0]?.progress.toISOString(), "2026-12-01T00:00:00.000Z");
  const seed = below(SeededRandom.stream(SEED, 901), 1_000_000);
  const packed = await answers("STRETCHES", SeededRandom.stream(seed, 1), ["none", "roomType"]);
  assert.deepEqual(
    packed,
    await answersOfRows(place, "STRETCHES", SeededRandom.stream(seed, 1), ["none", "roomType"]),
  );
});
