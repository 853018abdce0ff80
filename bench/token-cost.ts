/**
 * `npm run campaign -- token-cost [--walk]`: event-loop time of reading and validating a batch, by kind of JSON token: per byte
 * and per counted request, with the longest time without a turn of the loop. `--walk`: only 100 usual reservations.
 */

import { readBatchInTurns } from "#contract/read-batch.ts";
import { readOptions } from "../scripts/read-options.ts";
import { arrangeGrants } from "../src/identity/grants.ts";
import type { Principal } from "../src/identity/permissions.ts";
import { BatchValidator } from "../src/ingest/batch-validator.ts";
import { costOf } from "../src/ingest/request-cost.ts";
import { recordTemplates } from "./record-templates.ts";

const USAGE = `npm run campaign -- token-cost [--walk] [--rounds N]

What a batch costs the event loop of an HTTP thread, by kind of token. --walk: only 100 usual reservations, in µs.`;

const values = readOptions(USAGE, {
  walk: { type: "boolean", default: false },
  rounds: { type: "string", default: "7" },
});

const LIMITS = { recordsMax: 10_000, depthMax: 16 };
/** Below the limits of 250,000 values and 8 MiB per record. */
const VALUES = 240_000;
const TEXT_BYTES = 4_000_000;

const { clientCode, propertyCode } = JSON.parse(recordTemplates("reservations")[0] as string) as {
  clientCode: string;
  propertyCode: string;
};
const CLIENT: Principal = {
  clientId: "token-cost",
  scopes: new Set(),
  grants: arrangeGrants([{ clientCode, propertyCode }]),
  requestRate: 1,
  requestBurst: 1,
  tokenId: "",
  replyToOrigins: [],
  nulls: "specified",
  certificationId: null,
};

const reservation = recordTemplates("reservations")[0] as string;

/** A reservation with an additional field. */
const beside = (json: string): string => `${reservation.slice(0, -1)},"partnerField":${json}}`;
const many = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(",");
const list = (token: string, count = VALUES): string => beside(`[${many(count, () => token)}]`);
const members = (count: number, make: (at: number) => string): string => beside(`{${many(count, make)}}`);
const text = (piece: string): string =>
  beside(`"${piece.repeat(Math.floor(TEXT_BYTES / Buffer.byteLength(piece)))}"`);
const nested = (open: string, inner: string, close: string, depth: number, count: number): string =>
  list(open.repeat(depth) + inner + close.repeat(depth), count);

const stay = JSON.stringify((JSON.parse(reservation) as { roomStays: unknown[] }).roomStays[0]);

/** The record of each body. */
const RECORDS: Readonly<Record<string, () => string>> = {
  "numbers 1": () => list("1"),
  "numbers 1e5": () => list("1e5"),
  "numbers -1.5E+3": () => list("-1.5E+3"),
  "numbers 1.234567e-12": () => list("1.234567e-12"),
  "numbers of 18 digits e-3": () => list("123456789012345678e-3"),
  "numbers 1e0000000000000000001": () => list("1e0000000000000000001"),
  "fractions of 20 digits": () => list("0.12345678901234567891"),
  "fractions of 30 zeros": () => list("1.000000000000000000000000000000"),
  "2^53 + 1": () => list("9007199254740993"),
  "whole numbers of 300 digits": () => list("7".repeat(300), 25_000),
  "1e400": () => list("1e400"),
  "1e-400": () => list("1e-400"),
  null: () => list("null"),
  true: () => list("true"),
  'texts ""': () => list('""'),
  "texts of 10": () => list('"abcdefghij"'),
  "one text": () => text("abcdefgh"),
  "one text, \\n": () => text("\\n"),
  "one text, \\u0041": () => text("\\u0041"),
  "one text, pairs of surrogates": () => text("\\ud83d\\ude00"),
  "one text, é": () => text("é"),
  "one text, 🏨": () => text("🏨"),
  "texts with \\u0000": () => list('"\\u0000"'),
  "texts with \\ud800": () => list('"\\ud800"'),
  "empty arrays": () => list("[]", 120_000),
  "empty objects": () => list("{}", 120_000),
  "arrays 13 deep": () => nested("[", "1", "]", 12, 18_000),
  "objects 13 deep": () => nested('{"a":', "1", "}", 12, 18_000),
  "members of one object": () => members(VALUES, (at) => `"${at.toString(36)}":1`),
  "members named by numbers": () => members(VALUES, (at) => `"${at * 7919}":1`),
  "members with \\u names": () => members(VALUES, (at) => `"\\u0061${at.toString(36)}":1`),
  "members of equal long beginnings": () => members(60_000, (at) => `"${"n".repeat(60)}${at}":1`),
  "one name, repeated": () => members(VALUES, () => '"a":1'),
  "objects of one member": () => list('{"a":1}', 120_000),
  "objects with exponents": () => list('{"a":1e5}', 120_000),
  "forbidden names": () => list('{"prototype":1}', 120_000),
  whitespace: () => beside(`[${" ".repeat(TEXT_BYTES)}]`),
  "valid stays": () =>
    reservation.replace(
      stay,
      many(2_000, () => stay),
    ),
  "valid stays and 1e5": () =>
    beside("1e5").replace(
      stay,
      many(2_000, () => stay),
    ),
  "invalid stays": () =>
    reservation.replace(
      stay,
      many(80_000, () => "{}"),
    ),
  "stays that are numbers": () =>
    reservation.replace(
      stay,
      many(99_000, () => "1"),
    ),
};

interface Cost {
  readonly ms: number;
  /** The request cost of the batch. */
  readonly weight: number;
  readonly longestMs: number;
}

async function read(body: Buffer): Promise<Cost> {
  let longestMs = 0;
  let reading = true;
  const from = performance.now();
  let last = from;
  const look = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (reading) setImmediate(look);
  };
  setImmediate(look);
  const batch = new BatchValidator({
    resource: "reservations",
    lenient: true,
    principal: CLIENT,
    backfill: undefined,
    body,
  });
  await readBatchInTurns(body, LIMITS, "reservations", (record) => batch.add(record));
  const ms = performance.now() - from;
  longestMs = Math.max(longestMs, performance.now() - last);
  reading = false;
  return { ms, longestMs, weight: costOf(body.length, batch.all, batch.unusable) };
}

async function measure(body: Buffer, rounds: number): Promise<Cost> {
  const costs: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) costs.push(await read(body));
  // The minimum of all rounds, because other load only adds time.
  return {
    ms: Math.min(...costs.map(({ ms }) => ms)),
    longestMs: Math.min(...costs.map(({ longestMs }) => longestMs)),
    weight: costs[0]?.weight ?? 1,
  };
}

const rounds = Number(values.rounds);
const hundred = Buffer.from(`[${recordTemplates("reservations").slice(0, 100).join(",")}]`);
const usual = Buffer.from(`[${recordTemplates("reservations").slice(0, 2_000).join(",")}]`);
await measure(hundred, 300);

if (values.walk) {
  const { ms } = await measure(hundred, 2_000);
  console.log(`100 usual reservations, ${hundred.length} bytes: ${(1_000 * ms).toFixed(1)} µs`);
} else {
  const usualCost = await measure(usual, 40);
  const usualOfByte = usualCost.ms / usual.length;
  const usualOfRequest = usualCost.ms / usualCost.weight;
  console.log(
    `usual reservations: ${(1e6 * usualOfByte).toFixed(2)} ns a byte, ${(1e3 * usualOfRequest).toFixed(0)} µs a request\n`,
  );
  console.log("kind".padEnd(30), "  bytes     ms counts  x usual: a byte  a request  longest ms");
  for (const [kind, make] of Object.entries(RECORDS)) {
    const body = Buffer.from(`[${make()}]`);
    const { ms, longestMs, weight } = await measure(body, rounds);
    console.log(
      kind.padEnd(30),
      String(body.length).padStart(7),
      ms.toFixed(1).padStart(6),
      String(weight).padStart(6),
      (ms / body.length / usualOfByte).toFixed(1).padStart(16),
      (ms / weight / usualOfRequest).toFixed(1).padStart(10),
      longestMs.toFixed(1).padStart(11),
    );
  }
}
