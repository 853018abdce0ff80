import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { ApplyMemory, applyRecords } from "../../src/apply/apply-records.ts";
import { openStateSession, planByKeys } from "../../src/apply/state/look-up.ts";
import type { ApplicableRecord } from "../../src/apply/state/record.ts";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../src/ingest/log/part-name.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const BUCKET = 7;
const TIMES = 5;
const CONTENTS = 6;
const PLACES = 14;

/** A record of one key, and the place in the order of receipt at which it was released, where it was held. */
interface Received {
  readonly place: number;
  readonly time: number;
  readonly content: number;
  readonly releasedAt: number | null;
}

const released = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.nat(PLACES) },
);
/** Most keys have no record that was released, and most of the others have one. */
const receiptsWith = (release: fc.Arbitrary<number | null>) =>
  fc
    .array(fc.record({ time: fc.nat(TIMES - 1), content: fc.nat(CONTENTS - 1), release }), {
      minLength: 1,
      maxLength: PLACES,
    })
    .map((records) =>
      records.map(
        ({ release, ...record }, place): Received => ({
          ...record,
          place,
          releasedAt: release === null ? null : place + 1 + (release % PLACES),
        }),
      ),
    );
const receipts = fc.oneof(
  { weight: 2, arbitrary: receiptsWith(fc.constant(null)) },
  { weight: 1, arbitrary: receiptsWith(released) },
);
const appliedInAnyOrder = receipts.chain((received) =>
  fc.record({
    received: fc.constant(received),
    applied: fc.oneof(fc.constant(received), fc.shuffledSubarray(received, { minLength: received.length })),
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
  }),
);

const sourceTimeOf = (time: number) => `2026-01-01T00:00:0${time}.000000Z`;
const idOf = (request: number) => `${request.toString(16).padStart(8, "0")}-0000-7000-8000-000000000000`;
/** Two records share a request, so that the index decides too; releases are requests of their own. */
const requestOf = (place: number) => idOf((place >> 1) * 2);
const releaseOf = (place: number) => idOf((place >> 1) * 2 + 1);
const countsFrom = ({ place, releasedAt }: Received) =>
  releasedAt === null ? requestOf(place) : releaseOf(releasedAt);

/**
 * What the contents of a reservation say, and the nights of each: of day use a date, of a stay of more nights than insight counts none. The
 * fifth is the first at other numbers.
 */
const RESERVATIONS = [
  { status: "CONFIRMED", numberOfRooms: 2, departureDate: "2026-05-03", rate: "100.10" },
  { status: "CONFIRMED", numberOfRooms: 2, departureDate: "2026-05-04", rate: "100.10" },
  { status: "CANCELLED", numberOfRooms: 2, departureDate: "2026-05-03", rate: "100.10", shareId: "S" },
  { status: "CONFIRMED", numberOfRooms: 1, departureDate: "2026-05-01", rate: "1" },
  { status: "CONFIRMED", numberOfRooms: 3, departureDate: "2026-05-03", rate: "70.05" },
  { status: "CONFIRMED", numberOfRooms: 2, departureDate: "2029-05-06", rate: "100.10" },
] as const;
const NIGHTS_OF_RESERVATION = [
  ["2026-05-01 CONFIRMED - 2 4 200.2", "2026-05-02 CONFIRMED - 2 4 200.2"],
  [
    "2026-05-01 CONFIRMED - 2 4 200.2",
    "2026-05-02 CONFIRMED - 2 4 200.2",
    "2026-05-03 CONFIRMED - 2 4 200.2",
  ],
  ["2026-05-01 CANCELLED S 2 4 200.2", "2026-05-02 CANCELLED S 2 4 200.2"],
  ["2026-05-01 CONFIRMED - dayUse 1 0 1"],
  ["2026-05-01 CONFIRMED - 3 6 210.15", "2026-05-02 CONFIRMED - 3 6 210.15"],
  [],
] as const;
const GROUPS = [
  {
    status: "DEFINITE",
    blocks: [
      ["2026-05-01", 5, 1],
      ["2026-05-02", 5, 1],
    ],
  },
  {
    status: "DEFINITE",
    blocks: [
      ["2026-05-01", 5, 1],
      ["2026-05-02", 5, 2],
    ],
  },
  { status: "TENTATIVE", blocks: [["2026-05-01", 5, 1]] },
  { status: "DEFINITE", blocks: [] },
  { status: "DEFINITE", blocks: [["2026-05-02", 7, 3]] },
  { status: "DEFINITE", blocks: [["2026-05-03", 7, 3]] },
] as const;
const NIGHTS_OF_GROUP = GROUPS.map(({ status, blocks }) =>
  blocks.map(([date, held, picked]) => `${date} ${status} ${held} ${picked}`),
);

function documentOf(resource: "r" | "g", key: string, { time, content }: Received): object {
  const head = { clientCode: "ACME", propertyCode: "LON01", lastModifiedDateTime: sourceTimeOf(time) };
  if (resource === "r") {
    const { status, numberOfRooms, departureDate, rate, ...rest } = RESERVATIONS[content] ?? RESERVATIONS[0];
    return {
      ...head,
      reservationId: key,
      status,
      numberOfRooms,
      ...rest,
      roomStays: [
        {
          arrivalDate: "2026-05-01",
          departureDate,
          roomTypeCode: "DLX",
          numberOfAdults: 2,
          rates: [{ rateValue: rate }],
        },
      ],
    };
  }
  const { status, blocks } = GROUPS[content] ?? GROUPS[0];
  return {
    ...head,
    groupCode: key,
    groupStatusCode: status,
    startDate: "2026-05-01",
    endDate: "2026-05-03",
    groupBlocks: blocks.map(([occupancyDate, held, pickup]) => ({
      occupancyDate,
      roomTypeCode: "DLX",
      blocks: held,
      pickup,
    })),
  };
}

function applicable(resource: "r" | "g", key: string, received: Received): ApplicableRecord {
  const { place, time, content, releasedAt } = received;
  const bytes = Buffer.from(JSON.stringify(documentOf(resource, key, received)));
  const reading = readRecord(resource === "r" ? "reservations" : "groups", bytes);
  return {
    clientCode: "ACME",
    of: { bucket: BUCKET, propertyId: 1, resource, key },
    sourceTime: sourceTimeOf(time),
    contentHash: `0${content}`.padEnd(64, "0"),
    requestId: requestOf(place),
    index: place & 1,
    content: reading.content,
    ...(releasedAt === null ? {} : { countsFrom: releaseOf(releasedAt) }),
  };
}

/** By the definition: the newest of the versions known, each received when the first of its copies that are known was. */
function contentAt(received: readonly Received[], time: number, request: string): number | undefined {
  const known = received.filter((one) => one.time <= time && countsFrom(one) <= request);
  const firsts = known.filter(
    (one) =>
      !known.some(
        (other) => other.place < one.place && other.time === one.time && other.content === one.content,
      ),
  );
  return firsts.toSorted((left, right) => left.time - right.time || left.place - right.place).at(-1)?.content;
}

interface EntryRow {
  readonly source_time: string;
  readonly received_at: string;
  readonly nights: string[];
  readonly what: string;
  readonly counts: number[];
}

const ENTRIES = {
  r: `select e.source_time::text, e.received_at::text, array[e.rooms, e.adults, e.room_revenue * 10000]::float8[] as counts,
      concat_ws(' ', d.status, coalesce(e.share_id, '-'), d.cause) as what,
      array(select (e.first_night + night)::text from generate_series(0, e.nights - 1) as night) as nights
    from ${nightEntriesOf("bellhop_state", "key = $1")} as e join night_dimension as d using (bucket, property_id, dimension)`,
  g: `select e.source_time::text, e.received_at::text, array[e.blocks, e.picked_up]::float8[] as counts, d.status as what,
      array(select (e.first_night + night)::text from generate_series(0, e.nights - 1) as night) as nights
    from block_entry as e join night_dimension as d using (bucket, property_id, dimension) where e.key = $1`,
} as const;

/** The nights that entries leave at two instants, as the constants above have them. */
function summed(resource: "r" | "g", rows: readonly EntryRow[], time: string, received: string): string[] {
  const sums = new Map<string, number[]>();
  for (const { source_time, received_at, nights, what, counts } of rows) {
    if (source_time > time || received_at > received) continue;
    for (const night of nights) {
      const sum = sums.get(`${night} ${what}`) ?? counts.map(() => 0);
      sums.set(
        `${night} ${what}`,
        sum.map((number, at) => number + (counts[at] ?? 0)),
      );
    }
  }
  return [...sums]
    .filter(([, counts]) => counts.some((count) => count !== 0))
    .map(([night, [first, second, revenue = 0]]) =>
      resource === "r" ? `${night} ${first} ${second} ${revenue / 10_000}` : `${night} ${first} ${second}`,
    )
    .sort();
}

/** A node of a plan that was run. */
interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

describe("the stay-night ledger", () => {
  let database: TestDatabase;
  let client: pg.Client;
  let memory: ApplyMemory;
  let keys = 0;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    await client.connect();
    await openStateSession(client, "bellhop_state");
    await planByKeys(client, true);
    memory = new ApplyMemory(database.pool, client);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  async function applyAll(
    resource: "r" | "g",
    key: string,
    applied: readonly Received[],
    sizes: readonly number[],
  ) {
    for (let at = 0, cut = 0; at < applied.length; cut += 1) {
      const size = sizes[cut % sizes.length] as number;
      const together = applied.slice(at, at + size).map((record) => applicable(resource, key, record));
      await client.query("begin");
      await applyRecords(client, together, () => null, memory);
      await memory.write(client);
      await client.query("commit");
      at += size;
    }
  }

  async function assertSums(resource: "r" | "g", key: string, received: readonly Received[]): Promise<void> {
    const { rows } = await client.query<EntryRow>(ENTRIES[resource], [key]);
    const stored = (iso: string) => iso.replace("T", " ").replace(/\.?0*Z$/, "+00");
    const nightsOf = resource === "r" ? NIGHTS_OF_RESERVATION : NIGHTS_OF_GROUP;
    for (let time = 0; time < TIMES; time += 1) {
      for (let request = 0; request <= 2 * PLACES + 1; request += 1) {
        const content = contentAt(received, time, idOf(request));
        const receivedAt = stored(isoOfMicroseconds(microsecondsOf(idOf(request))));
        const found = summed(resource, rows, stored(sourceTimeOf(time)), receivedAt);
        const expected = content === undefined ? [] : [...(nightsOf[content] ?? [])];
        assert.deepEqual(found, expected, `at ${time} as known at ${request}`);
      }
    }
  }

  for (const [resource, name] of [
    ["r", "reservations"],
    ["g", "group blocks"],
  ] as const) {
    test(`of ${name} sums up to what counts at any instant of either clock, in any order, cuts, copies and releases`, async () => {
      await fc.assert(
        fc.asyncProperty(appliedInAnyOrder, async ({ received, applied, sizes }) => {
          keys += 1;
          await applyAll(resource, `K${keys}`, applied, sizes);
          await assertSums(resource, `K${keys}`, received);
        }),
        { numRuns: 200 },
      );
    });
  }

  test("the release of a current record takes effect at its time, after records received earlier", async () => {
    const list: Received[] = [
      { place: 0, time: 0, content: 1, releasedAt: null },
      { place: 1, time: 3, content: 1, releasedAt: 2 },
      { place: 2, time: 2, content: 3, releasedAt: null },
    ];
    for (const resource of ["r", "g"] as const) {
      keys += 1;
      await applyAll(resource, `K${keys}`, list, [1]);
      await assertSums(resource, `K${keys}`, list);
    }
  });

  test("writes one entry for changed numbers of the same nights, and none for equal numbers", async () => {
    keys += 1;
    const of = (place: number, content: number): Received => ({
      place,
      time: place,
      content,
      releasedAt: null,
    });
    const received = [of(0, 0), of(1, 4), of(2, 1), of(3, 4)];
    await applyAll("r", `K${keys}`, received, [1]);
    await assertSums("r", `K${keys}`, received);
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::integer as count from ${nightEntriesOf("bellhop_state", "key = $1")} as entry
       group by source_time order by source_time`,
      [`K${keys}`],
    );
    assert.deepEqual(
      rows.map(({ count }) => count),
      [1, 1, 2, 2],
    );
  });

  /** How many rows the statements of a piece of work answered. */
  async function rowsAnswered(work: () => Promise<void>): Promise<number> {
    let rows = 0;
    const query = client.query;
    client.query = ((...values: Parameters<typeof query>) => {
      const answer: unknown = query.apply(client, values);
      if (answer instanceof Promise)
        void answer.then((result: pg.QueryResult) => {
          rows += result.rows.length;
        });
      return answer;
    }) as typeof query;
    try {
      await work();
    } finally {
      client.query = query;
    }
    return rows;
  }

  test("reads only the versions next to a late one, not all versions of its key", async () => {
    keys += 1;
    const key = `K${keys}`;
    const of = (place: number, time: number, content: number): Received => ({
      place,
      time,
      content,
      releasedAt: null,
    });
    const first = [of(0, 0, 0), of(4, 4, 1)];
    await applyAll("r", key, first, [1]);
    await client.query(
      `insert into reservation_version (source_time, facts_source_time, property_id, record_index, from_date, to_date, bucket,
        outcome, request_id, content_hash, key, status)
      select source_time + n * interval '100 microseconds', source_time, property_id, 0, from_date, to_date, bucket, 's',
        request_id, content_hash, key, status
      from reservation_version, generate_series(1, 5000) as n where key = $1 and request_id = $2`,
      [key, requestOf(0)],
    );
    const late = [of(8, 2, 2), of(6, 3, 0)];
    assert.ok((await rowsAnswered(() => applyAll("r", key, late, [1]))) < 100);
    await assertSums("r", key, [...first, ...late]);
  });

  const VERSIONS = 3_000;

  /** Stores further versions of a key without changes of the ledger: copies of one, each with `time` (SQL) and `content` (SQL). */
  async function addVersions(key: string, of: string, time: string, content: string): Promise<void> {
    await client.query(
      `insert into reservation_version (source_time, facts_source_time, property_id, record_index, from_date, to_date, bucket,
        outcome, request_id, content_hash, key, status, facts)
      select ${time}, ${time}, property_id, n, from_date, to_date, bucket, 's', request_id, ${content}, key, status, facts
      from reservation_version, generate_series(1, ${VERSIONS}) as n where key = $1 and request_id = $2`,
      [key, of],
    );
  }

  /** How many versions the lookups of some work read, by the plan that each is given once more. */
  async function versionsRead(work: () => Promise<void>): Promise<number> {
    let read = 0;
    const addRows = (plan: Plan): void => {
      if (plan["Relation Name"]?.startsWith("reservation_version"))
        read += (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"];
      for (const part of plan.Plans ?? []) addRows(part);
    };
    const query = client.query;
    const ask = query.bind(client) as (asked: unknown, values?: unknown) => Promise<pg.QueryResult>;
    client.query = (async (asked: string | pg.QueryConfig, values?: unknown) => {
      if (typeof asked === "object" && asked.name?.match(/versions?-/)) {
        const text = `explain (analyze, timing off, format json) ${asked.text}`;
        const { rows } = await ask({ text, values: asked.values });
        addRows(rows[0]["QUERY PLAN"][0].Plan);
      }
      return ask(asked, values);
    }) as typeof query;
    try {
      await work();
    } finally {
      client.query = query;
    }
    return read;
  }

  const unreleased = (place: number, time: number, content: number): Received => ({
    place,
    time,
    content,
    releasedAt: null,
  });

  test("reads the versions of one source time once for many late records, and of these only those with their contents", async () => {
    keys += 1;
    const key = `K${keys}`;
    const first = [unreleased(0, 0, 0), unreleased(2, 4, 1)];
    await applyAll("r", key, first, [1]);
    await addVersions(key, requestOf(0), "source_time", "sha256(n::text::bytea)");
    const late = [1, 2, 3, 1, 2, 3].map((time, at) => unreleased(4 + at, time, at));
    const read = await versionsRead(() => applyAll("r", key, late, [6]));
    assert.ok(read < 2 * VERSIONS, `${read} versions`);
    const again = [unreleased(10, 0, 5), unreleased(11, 0, 2)];
    const answered = await rowsAnswered(() => applyAll("r", key, again, [1]));
    assert.ok(answered < 100, `${answered} rows`);
  });

  test("reads of many versions those that matter to one received before its neighbours", async () => {
    keys += 1;
    const key = `K${keys}`;
    const first = [unreleased(0, 0, 0), unreleased(1, 4, 1)];
    await applyAll("r", key, first, [1]);
    await addVersions(key, requestOf(0), "source_time + n * interval '100 microseconds'", "content_hash");
    const after = Array.from({ length: 2 * CONTENTS }, (_, at) => unreleased(4 + at, 2 + (at % 2), at >> 1));
    const late = [unreleased(2, 1, 5)];
    await applyAll("r", key, after, [3]);
    const answered = await rowsAnswered(() => applyAll("r", key, late, [1]));
    assert.ok(answered < 100, `${answered} rows`);
    await assertSums("r", key, [...first, ...after, ...late]);
  });
});
