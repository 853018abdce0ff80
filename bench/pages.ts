import { Agent } from "node:http";
import { hotelCode } from "./batches.ts";
import { getPage } from "./get-page.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import type { ServiceProcess } from "./service-process.ts";
import { median, percentile } from "./statistics.ts";

export const PAGE_RECORDS = 1_000;

/** Milliseconds per page, until its last byte. */
export interface PageFigures {
  readonly pages: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

function countOf(text: string, bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) count += 1;
  return count;
}

/** Reads the first page of 1,000 current reservations of each hotel, one after another. Throws for a page with fewer records. */
export async function readPages(service: ServiceProcess, hotels: readonly number[]): Promise<PageFigures> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  for (const hotel of hotels) {
    const code = hotelCode(hotel);
    const path = `/api/public/v1/reservations?clientCode=${CLIENT_CODE}&propertyCode=${code}&limit=${PAGE_RECORDS}`;
    const { status, body, ms } = await getPage(agent, service, path);
    times.push(ms);
    const records = countOf('"propertyCode":', body);
    if (status !== 200 || records !== PAGE_RECORDS)
      throw new Error(`A page of ${code}: ${status}, ${records} records.`);
  }
  agent.destroy();
  return { pages: times.length, p50Ms: median(times), p99Ms: percentile(times, 0.99) };
}
