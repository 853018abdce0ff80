import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";
import { until } from "../support/until.ts";
import type { AskOrder, AskReport } from "./ask-process.ts";
import { startElsewhere } from "./elsewhere.ts";
import { startServiceProcess } from "./service-process.ts";
import { createClient, push, takeToken } from "./take-arms.ts";

/** The widest range that a question may name, and what else each takes. */
const CODES = "clientCode=ACME&propertyCode=LON01";
const NIGHTS = `${CODES}&from=2026-01-01&to=2029-01-04`;
const INSIGHTS = [
  ...["", "&by=roomType", "&by=rateCode"].flatMap((by) => [
    `on-the-books?${NIGHTS}${by}`,
    `pickup?${NIGHTS}&since=2020-01-01T00:00:00Z${by}`,
    `pace?${NIGHTS}&daysBefore=1100${by}`,
  ]),
  ...["", "&by=roomType"].flatMap((by) => [`blocks?${NIGHTS}${by}`, `reconciliation?${NIGHTS}${by}`]),
  `reconciliation/night?${CODES}&stayDate=2026-06-01`,
  `feed-health?${CODES}`,
].map((question) => `${question}${/^(feed|.*night)/.test(question) ? "" : "&limit=10000"}`);

/** As the finding had it: a thousand stays over the whole calendar; then the worst of each resource that insight still counts. */
const dateOf = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
const RECORDS: readonly (readonly [string, string, () => LooseRecord[]])[] = [
  [
    "whole calendar, 1,000 stays",
    "reservations",
    () => [staysOf("R-1", 1_000, () => ["0001-01-01", "9999-12-31"])],
  ],
  [
    "10 stays of 1,100 nights, shared",
    "reservations",
    () => [staysOf("R-2", 10, () => [dateOf(0), dateOf(1_100)])],
  ],
  ["11,000 stays of one night, a room type each", "reservations", () => [oneNightStays()]],
  ["11,000 blocks", "groups", () => [blocks()]],
  ["1,100 nights of 1,000 room types", "inventories", () => []],
];

function staysOf(reservationId: string, count: number, dates: (at: number) => [string, string]): LooseRecord {
  return reservationRecord({
    reservationId,
    shareId: reservationId,
    numberOfRooms: 1,
    roomStays: Array.from({ length: count }, (_, at) => {
      const [arrivalDate, departureDate] = dates(at);
      return {
        arrivalDate,
        departureDate,
        roomTypeCode: `T${at}`,
        groupBlockCode: "G-1",
        rateCode: `P${at}`,
      };
    }),
  });
}

const oneNightStays = () => staysOf("R-3", 11_000, (at) => [dateOf(at % 1_100), dateOf((at % 1_100) + 1)]);

function blocks(): LooseRecord {
  const groupBlocks = Array.from({ length: 11_000 }, (_, at) => ({
    occupancyDate: dateOf(at % 1_100),
    roomTypeCode: `T${Math.floor(at / 1_100)}`,
    blocks: 1 + (at % 7),
  }));
  return groupRecord({ startDate: "0001-01-01", endDate: "9999-12-31", groupBlocks });
}

function inventories(first: number, count: number): LooseRecord[] {
  return Array.from({ length: count }, (_, at) =>
    inventoryRecord({
      occupancyDate: dateOf(first + at),
      roomTypeInventories: Array.from({ length: 1_000 }, (_type, type) => ({
        roomTypeCode: `T${type}`,
        roomTypeCapacity: 10,
        roomsSold: 1,
      })),
    }),
  );
}

export interface QuestionFigures {
  readonly question: string;
  readonly status: number;
  readonly ms: number;
}

export interface QuestionsReport {
  readonly slowest: readonly QuestionFigures[];
  readonly afterRecord: readonly {
    readonly record: string;
    readonly slowestMs: number;
    readonly question: string;
  }[];
  /** From the client leaving until the server had no statement of it, the longest of all questions that were caught at work; ms. */
  readonly cancelledMs: number;
  readonly cancelled: number;
  /** A neighbour's POST, p50 and p99, ms: alone, and while questions are asked on many connections. */
  readonly alone: readonly [number, number];
  readonly beside: readonly [number, number];
  /** Questions that were answered meanwhile. */
  readonly answered: number;
}

const FOR_SECONDS = 12;
const ASKERS = 6;

/**
 * Asks every insight of the worst records, leaves in the middle of some, and has a neighbour post beside them: of a service
 * with the embedded PostgreSQL, whose processes share the machine.
 */
export async function askWorst(progress: (line: string) => void): Promise<QuestionsReport> {
  const dataDir = await mkdtemp(join(tmpdir(), "bellhop-questions-"));
  // For the commands that make clients, too.
  process.env["DATA_DIR"] = dataDir;
  const service = await startServiceProcess("", { LOG_LEVEL: "warn" });
  const database = await openDatabase(
    { databaseUrl: undefined, dataDir, allowUnsafeDurability: false },
    createLogger({ level: "silent", pretty: false }),
    { role: "command" },
  );
  const { address } = service;
  try {
    const token = await takeToken(address, await createClient("", ["ACME/*"]));
    const neighbour = await takeToken(address, await createClient("", ["OTHER/*"]));
    const headers = { authorization: `Bearer ${token}` };
    const ask = async (question: string, signal?: AbortSignal): Promise<QuestionFigures> => {
      const startedAt = performance.now();
      const answer = await fetch(`${address}/api/insight/v1/${question}`, {
        headers,
        signal: signal ?? null,
      });
      const body = await answer.text();
      if (answer.status !== 200) throw new Error(`${question} was answered ${answer.status}: ${body}`);
      return { question, status: answer.status, ms: Math.round(performance.now() - startedAt) };
    };
    const posting = async (seconds: number): Promise<[number, number]> => {
      const took: number[] = [];
      const end = performance.now() + seconds * 1_000;
      for (let at = 0; performance.now() < end; at += 1) {
        const record = reservationRecord({ clientCode: "OTHER", reservationId: `N-${at}` });
        const startedAt = performance.now();
        const answer = await fetch(`${address}/api/public/v1/reservations`, {
          method: "POST",
          headers: { authorization: `Bearer ${neighbour}`, "content-type": "application/json" },
          body: JSON.stringify([record]),
        });
        if (answer.status !== 202) throw new Error(`the neighbour was answered ${answer.status}`);
        await answer.arrayBuffer();
        took.push(performance.now() - startedAt);
        await delay(10);
      }
      took.sort((one, other) => one - other);
      const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10;
      return [at(0.5), at(0.99)];
    };
    await posting(3);
    const alone = await posting(FOR_SECONDS);
    const figures: QuestionFigures[] = [];
    const afterRecord = [];
    for (const [record, resource, make] of RECORDS) {
      if (resource !== "inventories") await push(address, token, resource, make());
      else
        for (let first = 0; first < 1_100; first += 50)
          await push(address, token, resource, inventories(first, 50));
      const asked = [];
      for (const question of INSIGHTS) asked.push(await ask(question));
      figures.push(...asked);
      const slowest = asked.reduce((one, other) => (other.ms > one.ms ? other : one));
      afterRecord.push({ record, slowestMs: slowest.ms, question: slowest.question });
      progress(`${record}: slowest ${slowest.ms} ms, ${slowest.status}, ${slowest.question}`);
    }
    const running = async () => {
      const { rows } = await database.pool.query<{ statement: string }>(
        `select pid || ' ' || query_start as statement from pg_stat_activity
          where datname = current_database() and state = 'active' and application_name = 'bellhop'
          and query ~ 'night_|inventory_version' and query !~ 'ledger_segment'`,
      );
      return rows.map(({ statement }) => statement);
    };
    let [cancelled, cancelledMs] = [0, 0];
    for (const question of INSIGHTS) {
      const before = await running();
      const client = new AbortController();
      const answer = ask(question, client.signal).catch(() => undefined);
      let left: readonly string[] = [];
      for (const end = performance.now() + 500; left.length === 0 && performance.now() < end; )
        left = (await running()).filter((statement) => !before.includes(statement));
      client.abort();
      const leftAt = performance.now();
      await answer;
      if (left.length === 0) continue;
      await until(async () => !(await running()).some((statement) => left.includes(statement)), 10_000);
      cancelled += 1;
      cancelledMs = Math.max(cancelledMs, Math.round(performance.now() - leftAt));
    }
    const asker = startElsewhere(new URL("./ask-process.ts", import.meta.url));
    const questions = INSIGHTS.map((question) => `${address}/api/insight/v1/${question}`);
    asker.send({ questions, headers, connections: ASKERS } satisfies AskOrder);
    const beside = await posting(FOR_SECONDS);
    const [{ answered }] = (await Promise.all([once(asker, "message"), asker.send("stop")]))[0] as [
      AskReport,
    ];
    asker.kill();
    return {
      slowest: figures.sort((one, other) => other.ms - one.ms).slice(0, 8),
      afterRecord,
      cancelled,
      cancelledMs,
      alone,
      beside,
      answered,
    };
  } finally {
    await database.close();
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
