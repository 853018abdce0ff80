import type { Evidence } from "../evidence.ts";
import { listOf, textOf } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

const SLIPS: ReadonlySet<string> = new Set([
  "group.outside-dates",
  "group.pickup-above-blocks",
  "status.unmapped",
  "count.negative",
]);
const DATES_LEAST = 2;

function findingsOf(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "groups").flatMap(({ latest: record }) => {
    const { key, index, requestId, fields } = record;
    const slip = record.warnings.find(({ code }) => SLIPS.has(code));
    if (slip !== undefined) return wrong(`${key} (/${index}): ${slip.message} (${slip.code}).`, requestId);
    const dates = new Set(listOf(fields, "groupBlocks").map((block) => textOf(block, "occupancyDate")));
    if (dates.size < DATES_LEAST || textOf(fields, "name") === undefined) return [];
    return right(`${key} has blocks of ${dates.size} dates.`, requestId);
  });
}

/** Specification section 2.3. */
export const group: Step = {
  name: "group",
  title: "A group block master",
  instruction: ({ clientCode, propertyCode }) =>
    `Open a group in ${clientCode}/${propertyCode} with a name and a block for each night and room type, over ${DATES_LEAST} nights or more, all within startDate and endDate.`,
  judge: (evidence) =>
    judgementOf(
      findingsOf(evidence),
      `No group with a name and blocks of ${DATES_LEAST} dates has been seen.`,
    ),
};
