import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { after, lowestIdFrom, readInstant } from "../read/instant.ts";
import { type BooksPlace, compareCodes } from "./books-position.ts";
import type { NightWindow } from "./night-windows.ts";
import type { StayQuestion } from "./question.ts";
import { type Stock, stockOfFacts } from "./stock-facts.ts";

const findStock = readStatement(new URL("./sql/find-stock.sql", import.meta.url));
const findStockBefore = readStatement(new URL("./sql/find-stock-before.sql", import.meta.url));
const readStockStatement = readStatement(new URL("./sql/read-stock.sql", import.meta.url));

/** A night's inventory record, as the version that holds its content. */
interface StockVersion {
  readonly night: string;
  readonly facts_source_time: string;
  readonly content_hash: string;
}

const ID_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;
/** A record whose source time is further ahead of its receipt is held; once released it is current, and found as that. */
const AHEAD_MS_MAX = 3_600_000;
/** The first step back in time: a feed that pushes all nights every day is found within it. */
const FIRST_STEP_DAYS = 2;

/**
 * Where an instant ends: versions of a source time up to it, received before a request. No version that was received by
 * an instant has a source time long after it, so by the clock of receipt the search begins there too.
 */
function boundsOf({ clock, asOf }: StayQuestion): { sourceTime: string; requestId: string; newest: number } {
  const instant = asOf === null ? undefined : readInstant(asOf);
  if (asOf === null || instant === undefined)
    return { sourceTime: "infinity", requestId: ID_LAST, newest: 0 };
  if (clock === "source") return { sourceTime: asOf, requestId: ID_LAST, newest: instant.ms + 1 };
  return {
    sourceTime: "infinity",
    requestId: lowestIdFrom(after(instant)),
    newest: instant.ms + AHEAD_MS_MAX,
  };
}

/** The versions of nights whose current record does not count at an instant, found step by step back in time. */
async function versionsBefore(
  client: pg.ClientBase,
  question: StayQuestion,
  nights: readonly string[],
): Promise<StockVersion[]> {
  const { propertyId, bucket } = question.property;
  const bounds = boundsOf(question);
  const first = await client.query<{ ms: number | null }>({
    name: "find-first-stock",
    text: `select floor(extract(epoch from min(source_time)) * 1000)::float8 as ms
      from bellhop_state.inventory_version where bucket = $1 and property_id = $2`,
    values: [bucket, propertyId],
  });
  const firstMs = first.rows[0]?.ms ?? Number.POSITIVE_INFINITY;
  const found: StockVersion[] = [];
  const left = new Set(nights);
  let newest = bounds.newest;
  let until = question.clock === "source" ? bounds.sourceTime : new Date(newest).toISOString();
  for (let days = FIRST_STEP_DAYS; left.size > 0 && newest >= firstMs; days *= 2) {
    newest -= days * DAY_MS;
    // Before the first version there is nothing to be found, and no need for a date that none can be.
    const since = newest < firstMs ? "-infinity" : new Date(newest).toISOString();
    const { rows } = await client.query<StockVersion>({
      ...findStockBefore,
      values: [bucket, propertyId, [...left], since, until, bounds.requestId],
    });
    for (const row of rows) left.delete(row.night);
    found.push(...rows);
    until = since;
  }
  return found;
}

/**
 * What inventory tells of the nights of a window at the instant of a question, by its clock: in the order of nights and room
 * types, those after a place (that place's own room type included); at most `limit`.
 */
export async function readStock(
  client: pg.ClientBase,
  question: StayQuestion,
  { first, last }: NightWindow,
  from: BooksPlace,
  limit: number,
): Promise<Stock[]> {
  const { propertyId, bucket } = question.property;
  const { sourceTime, requestId } = boundsOf(question);
  const { rows: current } = await client.query<StockVersion & { readonly counts: boolean }>({
    ...findStock,
    values: [bucket, propertyId, first, last, sourceTime, requestId],
  });
  const versions: StockVersion[] = current.filter(({ counts }) => counts);
  const others = current.filter(({ counts }) => !counts);
  if (others.length > 0)
    versions.push(
      ...(await versionsBefore(
        client,
        question,
        others.map(({ night }) => night),
      )),
    );
  if (versions.length === 0) return [];
  const { rows } = await client.query<{ night: string; facts: string }>({
    ...readStockStatement,
    values: [
      ...[bucket, propertyId, versions.map(({ night }) => night)],
      versions.map(({ facts_source_time }) => facts_source_time),
      versions.map(({ content_hash }) => content_hash),
    ],
  });
  const stock: Stock[] = [];
  for (const { night, facts } of rows) {
    if (stock.length >= limit) break;
    if (night < from.night) continue;
    for (const one of stockOfFacts(night, facts, question.by === "roomType"))
      if (night > from.night || one.unit === null || compareCodes(one.unit, from.unit ?? "") >= 0)
        stock.push(one);
  }
  return stock.slice(0, limit);
}
