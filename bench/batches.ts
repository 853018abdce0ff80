import type { Message } from "../test/workload/message.ts";
import { generateWorkload } from "../test/workload/workload.ts";
import type { BenchCase } from "./cases.ts";
import { inventoryPushes } from "./inventory-push.ts";

const SEED = 20_260_101;
/** Makes about 29,000 reservations of two hotels' bookings, dealt to so many properties. */
const FEED_RECORDS = 40_000;
const FEED_PROPERTIES = 12;

let feed: readonly Message[] | undefined;

/** Batches of one resource and one property each, in the order of the feed, the properties taking turns. */
function feedBatches({ resource, recordsPerBatch }: BenchCase): string[][] {
  feed ??= generateWorkload({ seed: SEED, records: FEED_RECORDS, properties: FEED_PROPERTIES });
  const ofProperty = Map.groupBy(
    feed.filter((message) => message.resource === resource),
    ({ propertyCode }) => propertyCode,
  );
  const lines = [...ofProperty.values()].map((messages) => messages.map(({ json }) => json));
  const longest = Math.max(...lines.map((line) => line.length));
  const batches: string[][] = [];
  for (let from = 0; from < longest; from += recordsPerBatch) {
    for (const line of lines) {
      const batch = line.slice(from, from + recordsPerBatch);
      // Only full ones, so that the case is what its name says.
      if (batch.length === recordsPerBatch) batches.push(batch);
    }
  }
  return batches;
}

const prepared = new Map<string, string[][]>();

function batchesOf(benchCase: BenchCase): string[][] {
  const known = prepared.get(benchCase.name);
  if (known !== undefined) return known;
  const wanted = benchCase.recordsPerRound / benchCase.recordsPerBatch;
  const made = benchCase.source === "push" ? inventoryPushes(SEED, wanted) : feedBatches(benchCase);
  if (made.length < wanted) throw new Error(`${benchCase.name}: only ${made.length} batches of ${wanted}.`);
  prepared.set(benchCase.name, made.slice(0, wanted));
  return made.slice(0, wanted);
}

/** Ends every property code of a case's round, so that each round is the same work at hotels of its own. */
export function roundMark(caseNumber: number, round: number): string {
  return `-${caseNumber}-${round}`;
}

/** The bodies of a round, ready to be sent. */
export function roundBodies(benchCase: BenchCase, mark: string): Buffer[] {
  return batchesOf(benchCase).map((batch) => {
    const records = batch.map((json) =>
      json.replace(/"propertyCode":"([^"]+)"/, `"propertyCode":"$1${mark}"`),
    );
    return Buffer.from(`[${records.join(",")}]`);
  });
}
