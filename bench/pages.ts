import { hotelCode } from "./batches.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import type { ServiceProcess } from "./service-process.ts";
import { median, percentile } from "./statistics.ts";

export const PAGE_RECORDS = 1_000;
const HOST = "127.0.0.1";

/** Milliseconds per page. */
export interface PageFigures {
  readonly pages: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Reads the first page of 1,000 current reservations of each hotel, one after another. Throws for a page with fewer records. */
export async function readPages(service: ServiceProcess, hotels: readonly number[]): Promise<PageFigures> {
  const times: number[] = [];
  for (const hotel of hotels) {
    const query = `clientCode=${CLIENT_CODE}&propertyCode=${hotelCode(hotel)}&limit=${PAGE_RECORDS}`;
    const startedAt = performance.now();
    const answer = await fetch(`http://${HOST}:${service.port}/api/public/v1/reservations?${query}`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    const text = await answer.text();
    times.push(performance.now() - startedAt);
    const { items } = JSON.parse(text) as { items?: unknown[] };
    if (answer.status !== 200 || items?.length !== PAGE_RECORDS)
      throw new Error(`A page of ${hotelCode(hotel)}: ${answer.status}, ${items?.length} records.`);
  }
  return { pages: times.length, p50Ms: median(times), p99Ms: percentile(times, 0.99) };
}
