import { isoOfMicroseconds } from "../../src/ingest/log/part-name.ts";
import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { Insight } from "./ask-insight.ts";
import { differencesOf } from "./compare-answers.ts";
import { paceDifferences, YEAR_DAYS } from "./compare-pace.ts";
import { ExpectedBooks } from "./expected-books.ts";
import { batchesInAnyOrder, batchesInTime, chooseBookings, type FeedBatch, feedOf, HOTELS } from "./feed.ts";
import { FeedPush, feedClient } from "./push-feed.ts";
import { type Asked, questionsOf } from "./questions.ts";

/** In the order of time, as hotels send it, or in another one by the seed. */
export const ORDERS = ["time", "any"] as const;
export type Order = (typeof ORDERS)[number];

export interface RealFeedOptions {
  readonly seed: number;
  /** How many of the bookings; all by default. */
  readonly bookings?: number;
  /** At how many instants each order is asked. */
  readonly instants: number;
  /** In which orders the records arrive, each at a service of its own; both by default. */
  readonly orders?: readonly Order[];
  /** Records of a batch, about. */
  readonly batchRecords: number;
  /** Hears a line about each step. */
  readonly progress?: (line: string) => void;
}

/** What a run came to: no problems are answers equal to the rows, in each order of arrival. */
export interface RealFeedResult {
  readonly problems: readonly string[];
  readonly questions: number;
  readonly rows: number;
}

interface Run {
  readonly insight: Insight;
  readonly push: FeedPush;
  readonly books: ReadonlyMap<RealBooking["hotel"], ExpectedBooks>;
  readonly problems: string[];
}

const WATERMARK_MS_MAX = 30_000;
const PROBLEMS_SHOWN = 5;

const textOf = (ms: number): string => new Date(ms).toISOString();

function note(run: Run, about: string, differences: readonly string[]): boolean {
  for (const difference of differences.slice(0, PROBLEMS_SHOWN)) run.problems.push(`${about}: ${difference}`);
  if (differences.length > PROBLEMS_SHOWN)
    run.problems.push(`${about}: and ${differences.length - PROBLEMS_SHOWN} more`);
  return differences.length === 0;
}

/** By the source clock: on the books and pickup by each grouping, and the curve of some nights. */
async function askBySource(run: Run, asked: Asked): Promise<void> {
  const { hotel, from, to, atMs, sinceMs } = asked;
  const books = run.books.get(hotel) as ExpectedBooks;
  const question = { hotel, from, to, asOf: textOf(atMs), clock: "source" } as const;
  const where = `${hotel} at ${textOf(atMs)}`;
  for (const by of asked.by) {
    const expected = books.onTheBooks({ from, to, by, atMs });
    note(
      run,
      `${where} by ${by}`,
      differencesOf(expected, await run.insight.onTheBooks({ ...question, by })),
    );
    const picked = ExpectedBooks.difference(expected, books.onTheBooks({ from, to, by, atMs: sinceMs }));
    const answered = await run.insight.pickup({ ...question, by, since: textOf(sinceMs) });
    note(run, `${where} pickup since ${textOf(sinceMs)} by ${by}`, differencesOf(picked, answered));
  }
  const nights = { from, to: asked.paceTo };
  const { thisYear, lastYear } = await run.insight.pace({ ...question, ...nights, by: "none" });
  note(run, `${where} pace`, paceDifferences(books, { ...nights, atMs }, thisYear));
  const before = { from: from - YEAR_DAYS, to: asked.paceTo - YEAR_DAYS, atMs };
  note(run, `${where} pace of last year`, paceDifferences(books, before, lastYear));
}

/** By the clock of receipt: what was known when some batch had come. */
async function askByReceipt(run: Run, asked: Asked): Promise<void> {
  const { hotel, from, to } = asked;
  const [by = "none"] = asked.by;
  const { receipts } = run.push;
  const receipt = receipts[Math.floor(asked.receivedShare * (receipts.length - 1))] ?? 0;
  const isKnown = run.push.knownAt(receipt);
  const expected = (run.books.get(hotel) as ExpectedBooks).onTheBooks({ from, to, by, isKnown });
  const asOf = isoOfMicroseconds(receipt);
  const answered = await run.insight.onTheBooks({ hotel, from, to, by, asOf, clock: "receipt" });
  note(run, `${hotel} as received by ${asOf} by ${by}`, differencesOf(expected, answered));
}

/** What is answered at a watermark, before more is pushed and after: it must be the same. */
async function askAtWatermark(run: Run, questions: readonly Asked[]): Promise<() => Promise<void>> {
  const before: { question: Parameters<Insight["onTheBooks"]>[0]; rows: string }[] = [];
  const rowsOf = async (question: Parameters<Insight["onTheBooks"]>[0]): Promise<string> =>
    differencesOf(new Map(), await run.insight.onTheBooks(question)).join("\n");
  for (const { hotel, from, to, by } of questions) {
    const asOf = await watermarkFrom(run, hotel, run.push.receipts.at(-1) ?? 0);
    const question = { hotel, from, to, by: by[0] ?? "none", asOf, clock: "receipt" } as const;
    before.push({ question, rows: await rowsOf(question) });
  }
  return async () => {
    for (const { question, rows } of before)
      if ((await rowsOf(question)) !== rows)
        run.problems.push(`${question.hotel}: the answer at the watermark ${question.asOf} changed`);
  };
}

/** Waits for the watermark to reach a receipt, in microseconds. */
async function watermarkFrom(run: Run, hotel: RealBooking["hotel"], receipt: number): Promise<string> {
  let watermark = "";
  await until(async () => {
    watermark = (await run.insight.watermark(hotel)) ?? "";
    return watermark >= isoOfMicroseconds(receipt);
  }, WATERMARK_MS_MAX);
  return watermark;
}

/** Pushes the batches to a service of its own and asks it all the questions. */
async function runOrder(
  options: RealFeedOptions,
  books: Run["books"],
  batches: readonly FeedBatch[],
  questions: readonly Asked[][],
): Promise<RealFeedResult> {
  const progress = options.progress ?? (() => undefined);
  const service: TestService = await startTestService();
  try {
    const client = await feedClient(service);
    const run: Run = {
      insight: new Insight(service, client),
      push: new FeedPush(service, client),
      books,
      problems: [],
    };
    const startedAt = performance.now();
    const half = Math.ceil(batches.length / 2);
    await run.push.push(batches.slice(0, half));
    const askAgain = await askAtWatermark(run, questions[0] ?? []);
    await run.push.push(batches.slice(half));
    progress(
      `  ${run.push.records} records in ${batches.length} batches, pushed and applied in ${secondsSince(startedAt)}`,
    );
    await askAgain();
    for (const atInstant of questions) {
      const [{ asked, rows }, problems] = [run.insight, run.problems.length];
      for (const question of atInstant) {
        await askBySource(run, question);
        await askByReceipt(run, question);
      }
      const found = run.problems.length === problems ? "equal" : "DIFFERENT";
      const answers = `${run.insight.asked - asked} answers, ${run.insight.rows - rows} rows`;
      progress(`  ${textOf(atInstant[0]?.atMs ?? 0)}: ${answers}: ${found}`);
    }
    return { problems: run.problems, questions: run.insight.asked, rows: run.insight.rows };
  } finally {
    await service.stop();
  }
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

/** The whole proof: the feed in the order of time, then in another one, each to a service of its own. */
export async function runRealFeed(options: RealFeedOptions): Promise<RealFeedResult> {
  const progress = options.progress ?? (() => undefined);
  const bookings = chooseBookings(options.bookings);
  const records = feedOf(bookings);
  const books = new Map(HOTELS.map((hotel) => [hotel, new ExpectedBooks(bookings, hotel)]));
  const questions = questionsOf(records, options.seed, options.instants);
  const batchesIn = {
    time: () => batchesInTime(records, options.batchRecords),
    any: () => batchesInAnyOrder(records, options.batchRecords, options.seed),
  };
  const problems: string[] = [];
  let [asked, rows] = [0, 0];
  for (const order of options.orders ?? ORDERS) {
    progress(`${bookings.length} bookings in ${order === "time" ? "the order of time" : "another order"}:`);
    const result = await runOrder(options, books, batchesIn[order](), questions);
    problems.push(...result.problems.map((problem) => `order ${order}: ${problem}`));
    asked += result.questions;
    rows += result.rows;
  }
  return { problems, questions: asked, rows };
}
