import type { Schema } from "../../platform/http/openapi/model.ts";
import { objectOf } from "../../platform/http/openapi/schema.ts";
import { codeOrNull, count, decimalOrNull, stayDate, TEXT_PATTERN } from "./insight-fields.ts";

const timeOrNull = (description: string, example = "2026-07-14T02:01:17.052Z"): Schema => ({
  type: ["string", "null"],
  format: "date-time",
  maxLength: 27,
  description,
  examples: [example],
});
const hoursOrNull = (description: string, example: number): Schema => ({
  type: ["number", "null"],
  minimum: 0,
  maximum: 10_000_000,
  description,
  examples: [example],
});
const nights = (description: string): Schema => ({
  type: "array",
  maxItems: 400,
  description,
  items: stayDate,
  examples: [["2026-08-21"]],
});

/** How one feed of a property does. */
export const FEED_HEALTH: Readonly<Record<string, Schema>> = {
  propertyCode: { ...codeOrNull("The property code.", "LIS01"), type: "string" },
  resource: {
    type: "string",
    enum: ["inventories", "reservations", "groups"],
    description: "Which feed.",
    examples: ["inventories"],
  },
  lastReceivedAt: timeOrNull("When the last batch came that is applied; null: none ever."),
  cadenceHours: hoursOrNull(
    "Hours between batches as observed: half of the last 28 days lies in intervals no longer than this. Null: too few to tell.",
    24.01,
  ),
  expectedCadenceHours: hoursOrNull("Hours as expected by the settings; null: nothing is expected.", 24),
  silent: {
    type: "boolean",
    description: "Whether the last batch is longer ago than expected.",
    examples: [false],
  },
  silentHours: hoursOrNull("Hours beyond the expected ones; null where it is not silent.", 3.5),
  waiting: count(
    "Batches accepted and not applied yet that may have records of the property, of clients that it is granted to: an upper bound.",
    0,
  ),
  oldestWaitingAt: timeOrNull("When the oldest of them came.", "2026-07-14T09:30:00.120Z"),
  batches: count("Batches of the last 7 days.", 56),
  records: count("Their records.", 5_110),
  stale: count("Records that were older than what was known.", 2),
  duplicate: count("Records that had been received already.", 0),
  rejected: count("Invalid records of lenient batches.", 1),
  warned: count("Records with warnings.", 14),
  rejectionRate: decimalOrNull("`rejected` of `records`, 0 to 1; null: no records.", "0.0002"),
  warningRate: decimalOrNull("`warned` of `records`, 0 to 1.", "0.0027"),
  quarantined: count("Records held now; at most 1,000 are counted.", 0),
  unmappedLabelCount: count("Labels that nobody has mapped and a current record carries.", 1),
  unmappedLabels: {
    type: "array",
    maxItems: 100,
    description: "Those labels, most records first.",
    items: objectOf("A label.", {
      label: { ...codeOrNull("As sent.", "ON HOLD"), type: "string" },
      records: count("Current records that carry it.", 4),
    }),
    examples: [[{ label: "ON HOLD", records: 4 }]],
  },
  nightsTo: {
    ...stayDate,
    type: ["string", "null"],
    description: "Of inventories: the last night that is usually sent.",
    examples: ["2028-07-12"],
  },
  lastPushAt: timeOrNull("Of inventories: when the last push began.", "2026-07-14T02:00:02.552Z"),
  missingNightCount: count("Nights from the business day up to `nightsTo` without a record.", 1),
  missingNights: nights("Those nights, at most 400."),
  staleNightCount: count("Nights up to `nightsTo` that the last push left out.", 1),
  staleNights: nights("Those nights, at most 400."),
};

/** What the answer about feeds has beside its items. */
export const FEED_FIELDS: Readonly<Record<string, Schema>> = {
  businessDay: { ...stayDate, description: "The property's business day.", examples: ["2026-07-14"] },
  readAt: { ...timeOrNull("The moment of the answer."), type: "string", pattern: TEXT_PATTERN },
};

/** Lists, which CSV has no columns for. */
export const FEED_LISTS = ["unmappedLabels", "missingNights", "staleNights"] as const;
