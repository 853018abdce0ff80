import { listOf, textOf } from "../fields.ts";
import { latestOf, mistakesOf, right, type Step } from "../step.ts";

const SLIPS_OF_GROUP: ReadonlySet<string> = new Set([
  "group.outside-dates",
  "group.pickup-above-blocks",
  "status.unmapped",
  "count.negative",
]);
const DATES_LEAST = 2;

export const group: Step = {
  name: "group",
  title: "A group block master",
  docs: "guides/groups",
  instruction: ({ clientCode, propertyCode }) =>
    `Send a group in ${clientCode}/${propertyCode} with a name and a block for each night and room type, over at least ${DATES_LEAST} nights within startDate and endDate.`,
  notYet: `No group with a name and blocks of ${DATES_LEAST} dates has been received.`,
  find(evidence) {
    const latest = latestOf(evidence, "groups");
    const whole = latest.flatMap(({ key, requestId, fields }) => {
      const dates = new Set(listOf(fields, "groupBlocks").map((block) => textOf(block, "occupancyDate")));
      if (dates.size < DATES_LEAST || textOf(fields, "name") === undefined) return [];
      return right(`${key} has blocks of ${dates.size} dates.`, requestId);
    });
    return [...mistakesOf(latest, SLIPS_OF_GROUP), ...whole];
  },
};
