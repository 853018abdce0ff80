import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { ApplyMemory, applyRecords } from "../../src/apply/apply-records.ts";
import { openStateSession } from "../../src/apply/state/look-up.ts";
import type { ApplicableRecord } from "../../src/apply/state/record.ts";
import { reservation } from "../support/apply-bench.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import {
  applyings,
  contractOf,
  type Ending,
  incomingOf,
  placeOf,
  type Received,
} from "../support/received-records.ts";
import { countChangesThatEndElsewhere } from "../workload/observed-state.ts";

const BUCKET = 7;
const PROPERTY = 1;
/** The inventory of this one has named the room type, so that content may be known to have no warnings. */
const PROPERTY_WITH_INVENTORY = 2;

/** A real reservation's facts under the receipt, source time and content that the property is about. */
function applicable(propertyId: number, key: string, received: Received): ApplicableRecord {
  const incoming = incomingOf(received);
  const record = reservation(key, incoming.sourceTime, `content ${received.content}`);
  const { content } = readRecord("reservations", Buffer.from(JSON.stringify(record)));
  const of = { bucket: BUCKET, propertyId, resource: "r", key } as const;
  return { clientCode: "ACME", of, ...incoming, content };
}

describe("records of one key that log writers give to apply in any order", () => {
  let database: TestDatabase;
  let client: pg.Client;
  let memory: ApplyMemory;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    await client.connect();
    await openStateSession(client, "bellhop_state");
    memory = new ApplyMemory(database.pool, client);
    await client.query("insert into known_room_type values ($1, $2, 'DLX')", [
      BUCKET,
      PROPERTY_WITH_INVENTORY,
    ]);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  let change = 0;
  const nextChange = (): number => {
    change += 1;
    return change;
  };

  async function endingOf(key: string): Promise<Ending> {
    const read = async (table: string): Promise<string[]> => {
      const { rows } = await client.query<{
        source_time: string;
        content: string;
        request_id: string;
        record_index: number;
      }>(
        `select to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time,
          encode(content_hash, 'hex') as content, request_id, record_index
        from ${table} where key = $1`,
        [key],
      );
      return rows
        .map((row) => {
          const place = placeOf({ requestId: row.request_id, index: row.record_index });
          return `${row.source_time} ${row.content} @${place}`;
        })
        .sort();
    };
    return { versions: await read("reservation_version"), current: (await read("current_record")).join() };
  }

  test("end in the same rows and in changes that lead to them, however transactions cut them", async () => {
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(
        applyings,
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
        async ({ received, applied }, sizes) => {
          keys += 1;
          const key = `R${keys}`;
          const propertyId = keys % 2 === 0 ? PROPERTY : PROPERTY_WITH_INVENTORY;
          for (let at = 0, cut = 0; at < applied.length; cut += 1) {
            const size = sizes[cut % sizes.length] as number;
            const together = applied
              .slice(at, at + size)
              .map((record) => applicable(propertyId, key, record));
            await client.query("begin");
            await applyRecords(client, together, nextChange, memory);
            await client.query("commit");
            at += size;
          }
          assert.deepEqual(await endingOf(key), contractOf(received));
        },
      ),
      { numRuns: 400 },
    );
    assert.equal(await countChangesThatEndElsewhere(database.pool), 0);
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::integer as count from reservation_version
      where property_id = $1 and outcome = 'u' and facts is null`,
      [PROPERTY_WITH_INVENTORY],
    );
    assert.ok((rows[0]?.count ?? 0) > 20);
  });
});
