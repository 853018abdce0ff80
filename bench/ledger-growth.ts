/**
 * `node bench/ledger-growth.ts [--millions 0.1,1,10] [--hotel-entries 100000] [--asks 100]`: measures the response
 * times of insights over HTTP with this many stay-night entries (bench/README.md).
 */
import pg from "pg";
import { readOptions } from "../scripts/read-options.ts";
import { LedgerPacker } from "../src/insight/pack-ledger.ts";
import { hotelCode } from "./batches.ts";
import { Closers } from "./closers.ts";
import { type FilledHotel, fillLedger, makeTemplate } from "./ledger-fill.ts";
import { type AnswerTimes, askLedger, type LedgerQuestion } from "./ledger-questions.ts";
import { machineLine, machineOf } from "./machine.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import type { ServiceProcess } from "./service-process.ts";
import { startService } from "./started-service.ts";
import { untilDrained } from "./until-drained.ts";

const USAGE = `node bench/ledger-growth.ts [--millions 0.1,1,10] [--hotel-entries 100000] [--asks 100]

On the books of a year by room type, the pace of a date, a week's pickup of a month and half a year's pickup over HTTP, beside a ledger of so many million entries: before it is
packed and after.

  --millions N,…       sizes, each filled up from the one before
  --hotel-entries N    entries of one hotel: more hotels make a size, not larger ones
  --asks N             questions of each kind, of all hotels in turn`;

const values = readOptions(USAGE, {
  millions: { type: "string", default: "0.1,1,10" },
  "hotel-entries": { type: "string", default: "100000" },
  asks: { type: "string", default: "100" },
});

const FIRST_DAY = Date.UTC(2025, 0, 1);
const DAY_MS = 86_400_000;
const DAYS = 730;
const ROOM_TYPES = 13;
const AS_OF = "2026-07-01T00:00:00Z";

function dateOf(day: number): string {
  return new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10);
}

/** Pushes two years of inventory, which registers the hotel and its capacity. */
async function pushInventory(service: ServiceProcess, propertyCode: string): Promise<void> {
  const records = Array.from({ length: DAYS }, (_, day) => ({
    clientCode: CLIENT_CODE,
    propertyCode,
    createDateTime: "2025-01-01T00:00:00Z",
    occupancyDate: dateOf(day),
    roomTypeInventories: Array.from({ length: ROOM_TYPES }, (_, type) => ({
      roomTypeCode: `RT${type}`,
      roomTypeCapacity: 40,
      roomsSold: (day * 7 + type) % 40,
    })),
  }));
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/public/v1/inventories`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
    body: JSON.stringify(records),
  });
  if (answer.status !== 202) throw new Error(`Inventory: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** One query per hotel in turn. */
function questionsFor(codes: readonly string[], asks: number, about: (at: number) => LedgerQuestion) {
  return Array.from({ length: asks }, (_, at) => {
    const { insight, parameters } = about(at);
    const propertyCode = codes[at % codes.length] ?? "";
    return { insight, parameters: { clientCode: CLIENT_CODE, propertyCode, asOf: AS_OF, ...parameters } };
  });
}

function lineOf(what: string, { answers, rows, pages, p50Ms, p99Ms }: AnswerTimes): string {
  const made = `${rows} rows in ${pages.toFixed(1)} pages`;
  return `  ${what}: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (${answers} answers, ${made})`;
}

async function measure(service: ServiceProcess, codes: readonly string[], asks: number): Promise<string[]> {
  const year = await askLedger(
    service,
    questionsFor(codes, asks, () => ({
      insight: "on-the-books",
      parameters: { from: "2026-01-01", to: "2026-12-31", by: "roomType" },
    })),
  );
  const pace = await askLedger(
    service,
    questionsFor(codes, asks, (at) => {
      const date = dateOf(365 + 90 + ((at * 7) % 180));
      return { insight: "pace", parameters: { from: date, to: date } };
    }),
  );
  const pickup = await askLedger(
    service,
    questionsFor(codes, asks, (at) => {
      const first = 365 + 181 + (at % 150);
      const month = { from: dateOf(first), to: dateOf(first + 30) };
      return { insight: "pickup", parameters: { ...month, since: "2026-06-24T00:00:00Z", by: "roomType" } };
    }),
  );
  const halfYear = await askLedger(
    service,
    questionsFor(codes, asks, () => ({
      insight: "pickup",
      parameters: { from: "2026-07-01", to: "2026-12-31", since: "2026-01-01T00:00:00Z", by: "roomType" },
    })),
  );
  return [
    lineOf("on the books of a year by room type", year),
    lineOf("pace of a date", pace),
    lineOf("a week's pickup of a month by room type", pickup),
    lineOf("half a year's pickup of half a year by room type", halfYear),
  ];
}

const closers = new Closers();
try {
  const { service, client, database } = closers.kept(await startService("ledger"));
  const pool = new pg.Pool({ ...database, max: 2 });
  closers.add(() => pool.end());
  console.log(machineLine(machineOf()));
  const asks = Number(values.asks);
  const template = await makeTemplate(client, Number(values["hotel-entries"]));
  const codes: string[] = [];
  for (const millions of values.millions.split(",").map(Number)) {
    const hotels = Math.max(1, Math.round((millions * 1e6) / template));
    const added = Array.from({ length: hotels - codes.length }, (_, at) => hotelCode(codes.length + at));
    const startedAt = Date.now();
    for (const code of added) await pushInventory(service, code);
    await untilDrained(client, startedAt);
    const { rows } = await client.query<FilledHotel>(
      "select property_id, bucket from bellhop.property where property_code = any ($1) order by property_code",
      [added],
    );
    await fillLedger(client, template, rows);
    codes.push(...added);
    const made = await client.query<{ size: string; dimensions: number }>(
      `select pg_size_pretty(pg_total_relation_size('bellhop_state.night_entry')
           + pg_total_relation_size('bellhop_state.ledger_delta')) as size,
         (select count(*)::integer from bellhop_state.night_dimension) as dimensions`,
    );
    const { size, dimensions = 0 } = made.rows[0] ?? {};
    const entries = (template * codes.length).toLocaleString("en-US");
    const ofEach = `each of ${Math.round(dimensions / codes.length)} dimensions`;
    const filled = `filled in ${Math.round((Date.now() - startedAt) / 1000)} s`;
    console.log(`${entries} entries of ${codes.length} hotels, ${ofEach}, ${size} with indexes, ${filled}`);
    for (const line of await measure(service, codes, asks)) console.log(line);
    const packedAt = Date.now();
    const packer = new LedgerPacker(pool, (error) => {
      throw error;
    });
    await packer.pack();
    const packed = await client.query<{ size: string }>(
      "select pg_size_pretty(pg_total_relation_size('bellhop_state.ledger_segment')) as size",
    );
    console.log(`packed in ${Math.round((Date.now() - packedAt) / 1000)} s, ${packed.rows[0]?.size}`);
    for (const line of await measure(service, codes, asks)) console.log(line);
  }
} finally {
  await closers.close();
}
process.exit();
