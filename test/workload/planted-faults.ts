import type pg from "pg";
import { advanceCursors, recordOutcomes } from "../../src/apply/apply-parts.ts";
import { ApplyMemory, applyRecords } from "../../src/apply/apply-records.ts";
import { type LogPart, type PartRecord, PropertyDirectory, readPart } from "../../src/apply/backlog.ts";
import { bucketsOf } from "../../src/apply/pipeline.ts";
import type { ApplicableRecord, OutcomeLetter } from "../../src/apply/state/record.ts";
import { holdBuckets } from "../../src/platform/db/dialect.ts";
import { currentOf } from "../support/current-record.ts";
import type { TestDatabase } from "../support/database.ts";
import { openStateClients, readNext } from "../support/state-clients.ts";
import type { StartEngine } from "./apply-engine.ts";

/**
 * Engines that are wrong on purpose, made of the service's own steps put together badly. The any-order harness must find
 * each of them, or it would not find the real thing either.
 */
export const PLANTED_FAULTS = {
  /** Two connections apply one bucket at the same time, no lease keeps them apart, and who lost a race gives up. */
  race: startRacingAppliers,
  /** A record with a newer source time and the same content is dropped instead of advancing the order. */
  "skip-unchanged": startUnchangedSkipper,
} as const satisfies Record<string, StartEngine>;

export type PlantedFault = keyof typeof PLANTED_FAULTS;

const CONFLICT = /^(23|40)/;

const RECORDS_AT_ONCE = 2_000;

type ApplyTogether = (clients: readonly pg.Client[], parts: readonly LogPart[]) => Promise<void>;

function runLoop(
  database: TestDatabase,
  connections: number,
  failed: (error: unknown) => void,
  applyTogether: ApplyTogether,
): ReturnType<StartEngine> {
  let stopped = false;
  const ofConnection: pg.Client[][] = [];
  const run = async (): Promise<void> => {
    while (ofConnection.length < connections) ofConnection.push(await openStateClients(database, failed));
    let seen = -1;
    while (!stopped) {
      // Begins when the log has stopped growing, as after an outage: then a bucket has many parts waiting. (By the log, as on Citus
      // one worker is read after another.)
      const { rows } = await database.pool.query<{ parts: number }>(
        "select count(*)::integer as parts from bellhop.accept_log",
      );
      const inLog = rows[0]?.parts ?? 0;
      const grows = inLog !== seen;
      seen = inLog;
      const [first = []] = ofConnection;
      const next = grows ? undefined : await readNext(first, RECORDS_AT_ONCE);
      if (next !== undefined) {
        const clients = ofConnection.map((clients) => clients[first.indexOf(next.client)] as pg.Client);
        for (const client of clients) holdBuckets(client, bucketsOf(next.parts));
        await applyTogether(clients, next.parts);
      } else await new Promise((resume) => setTimeout(resume, 100));
    }
  };
  const finished = run().catch(failed);
  return {
    wake: () => undefined,
    changeHands: () => Promise.resolve(),
    async stop() {
      stopped = true;
      await finished;
      for (const client of ofConnection.flat()) await client.end();
    },
  };
}

function applicableOf(records: readonly PartRecord[]): ApplicableRecord[] {
  return records.flatMap((record) => ("code" in record ? [] : [record]));
}

async function finishPart(
  client: pg.Client,
  part: LogPart,
  letters: readonly OutcomeLetter[],
  records: readonly ApplicableRecord[],
) {
  await recordOutcomes(client, [{ part, letters: records.map((_, at) => letters[at] ?? "q").join("") }], []);
}

/** Change numbers without the lease's counter: one sequence for all, since nothing here holds the lease. */
let lastChange = 0;
const nextChange = (): number => {
  lastChange += 1;
  return lastChange;
};

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<boolean> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
    return true;
  } catch (error) {
    await client.query("rollback");
    if (error instanceof Error && "code" in error && CONFLICT.test(String(error.code))) return false;
    throw error;
  }
}

function startRacingAppliers(database: TestDatabase, failed: (error: unknown) => void) {
  const properties = new PropertyDirectory(database.pool);
  return runLoop(database, 2, failed, async (clients, parts) => {
    const applyPart = async (client: pg.Client, part: LogPart): Promise<void> => {
      const records = applicableOf((await readPart(part, properties)).records);
      // The database refuses rows that another has written since they were looked up (by their key, or by their place), so
      // whoever tried again would end in the right state. This one takes it for bad data.
      const applied = await inTransaction(client, async () => {
        const memory = new ApplyMemory(database.pool, client);
        const applied = await applyRecords(client, records, nextChange, memory);
        const letters = applied.map(({ outcome }) => outcome);
        await finishPart(client, part, letters, records);
      });
      if (applied) return;
      await inTransaction(client, () => finishPart(client, part, [], records));
    };
    for (const ofBucket of Map.groupBy(parts, ({ bucket }) => bucket).values()) {
      const left = [...ofBucket];
      while (left.length > 0) {
        // One each at the same time: this is what the lease forbids.
        await Promise.all(left.splice(0, 2).map((part, at) => applyPart(clients[at] as pg.Client, part)));
      }
    }
    await advanceCursors(clients[0] as pg.Client, parts);
  });
}

function startUnchangedSkipper(database: TestDatabase, failed: (error: unknown) => void) {
  const properties = new PropertyDirectory(database.pool);
  return runLoop(database, 1, failed, async ([client], parts) => {
    for (const part of parts) {
      const records = applicableOf((await readPart(part, properties)).records);
      await inTransaction(client as pg.Client, async () => {
        const letters: OutcomeLetter[] = [];
        const memory = new ApplyMemory(database.pool, client as pg.Client);
        for (const record of records) letters.push(await applySkipping(client as pg.Client, record, memory));
        await finishPart(client as pg.Client, part, letters, records);
      });
    }
    await advanceCursors(client as pg.Client, parts);
  });
}

async function applySkipping(
  client: pg.Client,
  record: ApplicableRecord,
  memory: ApplyMemory,
): Promise<OutcomeLetter> {
  const current = (await currentOf(client, record.of))?.version;
  const { sourceTime, contentHash } = record;
  if (current !== undefined && current.contentHash === contentHash && current.sourceTime < sourceTime)
    return "u";
  const [applied] = await applyRecords(client, [record], nextChange, memory);
  return applied?.outcome ?? "q";
}
