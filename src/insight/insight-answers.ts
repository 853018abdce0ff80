import type { FastifyReply, FastifyRequest } from "fastify";
import { csvCell } from "#contract/csv-cell.ts";
import { withoutFormula } from "#contract/without-formula.ts";
import { jsonInTurns } from "../platform/http/json-in-turns.ts";
import type { Schema } from "../platform/http/openapi/model.ts";
import { prefersText } from "../platform/http/preferences.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { Fields } from "./fields.ts";
import type { Insight } from "./insight.ts";

/** A page of an insight. */
interface InsightAnswer {
  readonly items: readonly object[];
  readonly nextCursor: string | null;
  readonly clock: string;
  readonly asOf: string | null;
  readonly watermark: string | null;
  readonly settingsVersion: number;
  readonly timeZone: string;
  readonly businessDay: string;
  /** Superseded records received before this may have been deleted by retention; omitted where none were. */
  readonly knownFrom?: string;
}

/** Text from a sender, which may be a formula; dates and decimals are generated here. */
function isForeign({ type, format }: Schema): boolean {
  return [type].flat().includes("string") && format === undefined;
}

function cellOf(value: unknown, isForeignText: boolean): string {
  if (value === null || value === undefined) return "";
  return csvCell(isForeignText ? withoutFormula(String(value)) : String(value));
}

async function linesOf(items: readonly object[], lineOf: (item: object) => string): Promise<string[]> {
  const lines: string[] = [];
  const pauses = new WorkPauses();
  for (const item of items) {
    if (pauses.isDue) await pauses.pause();
    lines.push(lineOf(item));
  }
  return lines;
}

/** Items as CSV (RFC 4180). Columns are the schema's fields without groupings that were not requested; missing values are empty cells. */
async function csvOf(items: readonly object[], fields: Fields, leftOut: readonly string[]): Promise<string> {
  const columns = Object.entries(fields).filter(([name]) => !leftOut.includes(name));
  const lines = await linesOf(items, (item) =>
    columns
      .map(([name, column]) => cellOf((item as Readonly<Record<string, unknown>>)[name], isForeign(column)))
      .join(","),
  );
  return `${[columns.map(([name]) => name).join(","), ...lines].join("\r\n")}\r\n`;
}

export const prefersCsv = ({ headers }: FastifyRequest): boolean => prefersText(headers.accept, "text/csv");

/** Sends items as CSV: see `csvOf`. */
export async function sendCsv(
  reply: FastifyReply,
  ...table: Parameters<typeof csvOf>
): Promise<FastifyReply> {
  return reply.type("text/csv; charset=utf-8; header=present").send(await csvOf(...table));
}

/** The URL of the next page. */
function nextAddress(request: FastifyRequest, cursor: string): string {
  const [path = "", query = ""] = (request.raw.url ?? "").split("?", 2);
  const kept = query.split("&").filter((pair) => pair !== "" && !/^cursor(=|$)/.test(pair));
  // Characters that a URL must not contain (RFC 3986) and that would end the link.
  return `${path}?${[...kept, `cursor=${cursor}`].join("&")}`.replace(/[<>"\s]/g, encodeURIComponent);
}

/** Sends a page as JSON, or as CSV if the client prefers it. */
export async function sendInsight(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: InsightAnswer,
  { item, page }: Insight,
  notAsked: readonly string[],
): Promise<FastifyReply> {
  const { items, ...of } = answer;
  reply.header("cache-control", "no-store").header("vary", "accept");
  if (!prefersCsv(request)) {
    const text = await jsonInTurns({ [page.itemsName ?? "items"]: items, ...of });
    return reply.type("application/json; charset=utf-8").send(text);
  }
  const { nextCursor, watermark, settingsVersion, knownFrom, timeZone, businessDay } = answer;
  if (nextCursor !== null) reply.header("link", `<${nextAddress(request, nextCursor)}>; rel="next"`);
  if (watermark !== null) reply.header("x-watermark", watermark);
  if (knownFrom !== undefined) reply.header("x-known-from", knownFrom);
  reply
    .header("x-settings-version", String(settingsVersion))
    .header("x-time-zone", timeZone)
    .header("x-business-day", businessDay);
  return sendCsv(reply, items, item.fields, [...notAsked, ...(item.notInCsv ?? [])]);
}
