import { spansOfFacts } from "#contract/parsed-spans.ts";
import { COLUMNS } from "#contract/record-plan.ts";
import { groupNights } from "../apply/ledger/content-nights.ts";
import { SpanFacts } from "../apply/ledger/reservation-nights.ts";
import type { PropertyCodes } from "../query/property.ts";
import { type Batch, charactersOf, type Value } from "./columns.ts";

type GroupRow = readonly [propertyId: number, key: string, status: string | null, facts: string | null];

/** Adds a row for each night and room type of a group block master's current version, as counted by the ledger. */
export function addBlocks(
  properties: ReadonlyMap<number, PropertyCodes>,
  [propertyId, key, status, facts]: GroupRow,
  batch: Batch,
): void {
  if (facts === null) throw new Error(`The facts of the group ${key} are not where its version says.`);
  const { clientCode, propertyCode } = properties.get(propertyId) as PropertyCodes;
  const spans = spansOfFacts("groups", facts);
  const master = new SpanFacts("groups", spans).text(0, COLUMNS.group.masterGroupCode);
  for (const run of groupNights(spans, status, key)) {
    const { firstNight, nights, blocks, pickedUp, originalBlocks, codes } = run;
    const of: readonly Value[] = [clientCode, propertyCode, key];
    const rest: readonly Value[] = [
      status,
      master,
      codes.roomTypeCode,
      codes.marketSegmentCode,
      codes.rateCode,
      codes.currencyCode,
      blocks,
      pickedUp,
      originalBlocks,
    ];
    for (let night = 0; night < nights; night += 1) {
      const values = [...of, firstNight + night, ...rest];
      for (const [at, value] of values.entries()) batch.values[at]?.push(value);
      batch.endRows(charactersOf(values));
    }
  }
}
