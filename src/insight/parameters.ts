import { daysBetween } from "#contract/dates.ts";
import {
  type Declared,
  date,
  instant,
  type ParameterSet,
  pages,
  required,
  type ValuesOf,
  word,
} from "../platform/http/parameters.ts";
import { checkOrder, invalidParameter } from "../platform/http/read-parameters.ts";
import { PROPERTY_PARAMETERS } from "../query/openapi/read-parameters.ts";
import { BY, CLOCKS, type Grouping, NIGHTS_MAX, type StayQuestion } from "./question.ts";

/** Maximum items per page: a year of ten room types fits. */
export const INSIGHT_LIMIT_MAX = 10_000;

const RANGE = {
  from: required(date("The first stay date.", "2026-07-01")),
  to: required(
    date(`The last stay date, inclusive: at most ${NIGHTS_MAX} nights from the first.`, "2026-07-31"),
  ),
};

/** Parameters of answers with `asOf` and pages. */
const PAGES = {
  asOf: instant(
    "The instant to answer for, inclusive. Default: everything that has been applied.",
    "2026-06-15T12:00:00Z",
  ),
  clock: word(
    "The clock of `asOf`. `source` (PMS time): what the hotel's system had recorded at that instant; records that arrive late correct the answer. `receipt` (received time): what Bellhop had received; at or before the `watermark`, with the same `settingsVersion`, the answer never changes.",
    CLOCKS,
    "receipt",
    "source",
  ),
  ...pages(INSIGHT_LIMIT_MAX, 1_000),
};

/** The parameters of every insight about nights. */
export const STAY_PARAMETERS = {
  ...PROPERTY_PARAMETERS,
  ...RANGE,
  by: word(
    "The field to group nights by: each item has it under this name, null if it is not reported.",
    BY,
    "roomType",
    "none",
  ),
  ...PAGES,
};

/** The parameters of an insight by date, in total. */
export const TOTAL_PARAMETERS = { ...PROPERTY_PARAMETERS, ...RANGE, ...PAGES };

/** The parameters of an insight by night, in total or by room type. */
export const ROOM_TYPE_PARAMETERS = {
  ...PROPERTY_PARAMETERS,
  ...RANGE,
  by: word("Whether to split nights by room type.", ["none", "roomType"], "roomType", "none"),
  ...PAGES,
};

/** The parameters of the explanation of one stay date. */
export const NIGHT_PARAMETERS = {
  ...PROPERTY_PARAMETERS,
  stayDate: required(date("The night.", "2026-07-14")),
  ...PAGES,
};

/** The parameters of an insight: those of its property, and any of these and others. */
export type InsightParameterSet = typeof PROPERTY_PARAMETERS &
  Partial<typeof RANGE & typeof PAGES & { readonly by: Declared<Grouping, Grouping> }> &
  ParameterSet;

/** Throws ServiceError `bellhop.http.InvalidParameter` for a range that is reversed or too long. */
export function checkRange({ from, to }: ValuesOf<InsightParameterSet>): void {
  checkOrder(from, to);
  if (from !== undefined && to !== undefined && daysBetween(from, to) >= NIGHTS_MAX)
    throw invalidParameter(
      `from and to may span at most ${NIGHTS_MAX} nights. Query longer periods in parts.`,
    );
}

/** The parameters common to insights, with defaults for those that an insight lacks. */
export function questionOf({
  clientCode,
  propertyCode,
  from = "",
  to = "",
  by = "none",
  clock = "receipt",
  asOf,
}: ValuesOf<InsightParameterSet>): Omit<StayQuestion, "property"> {
  return { clientCode, propertyCode, from, to, by, clock, asOf: asOf ?? null };
}
