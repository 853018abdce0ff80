import type { Evidence, SeenRecord } from "../evidence.ts";
import { dayAfter } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

const DATES_LEAST = 7;
/** Overbooking is legal; these are slips. */
const SLIPS: ReadonlySet<string> = new Set([
  "inventory.sold-split",
  "inventory.room-type-repeated",
  "count.negative",
]);

/** What is doubtful in the newest version of each date. */
function slipsOf(latest: readonly SeenRecord[]): Finding[] {
  return latest.flatMap((record) => {
    const slip = record.warnings.find(({ code }) => SLIPS.has(code));
    if (slip === undefined) return [];
    const { key, index, requestId } = record;
    return wrong(
      `${key}: ${slip.message} (${slip.code} at /${index}${slip.pointer.replace(/^\/\d+/, "")}).`,
      requestId,
    );
  });
}

/** The longest run of dates of one hotel without a gap. */
function longestRun(latest: readonly SeenRecord[]): SeenRecord[] {
  const sorted = latest.toSorted((left, right) => {
    const one = `${left.clientCode}\0${left.propertyCode}\0${left.key}`;
    return one < `${right.clientCode}\0${right.propertyCode}\0${right.key}` ? -1 : 1;
  });
  let run: SeenRecord[] = [];
  let longest: SeenRecord[] = [];
  for (const record of sorted) {
    const before = run.at(-1);
    const follows =
      before !== undefined &&
      before.clientCode === record.clientCode &&
      before.propertyCode === record.propertyCode &&
      record.key === dayAfter(before.key, 1);
    run = follows ? [...run, record] : [record];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

function findingsOf(evidence: Evidence): Finding[] {
  const latest = historiesOf(evidence, "inventories").map((history) => history.latest);
  const run = longestRun(latest);
  const findings = slipsOf(latest);
  const [first, last] = [run[0], run.at(-1)];
  if (first !== undefined && last !== undefined && run.length >= DATES_LEAST)
    findings.push(
      right(
        `${run.length} dates in a row from ${first.key} to ${last.key}, counts that add up.`,
        ...run.map(({ requestId }) => requestId),
      ),
    );
  return findings;
}

/** Specification section 2.1. */
export const inventory: Step = {
  name: "inventory",
  title: "Room inventory",
  instruction: ({ clientCode, propertyCode, openedAt }) => {
    const today = openedAt.slice(0, 10);
    return `Send the inventory of ${clientCode}/${propertyCode} for ${DATES_LEAST} dates in a row, such as ${today} to ${dayAfter(today, DATES_LEAST - 1)}: one record a date, every room type in each, transientSold + groupSold = roomsSold.`;
  },
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), `No ${DATES_LEAST} dates in a row of one property have been seen.`),
};
