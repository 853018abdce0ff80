import type { FastifyRequest } from "fastify";
import { daysBetween } from "#contract/dates.ts";
import type { Parameter } from "../platform/http/openapi/model.ts";
import { checkOrder, invalidParameter } from "../platform/http/read-parameters.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import {
  CURSOR_PARAMETER,
  date,
  instant,
  PROPERTY_PARAMETERS,
  query,
  whole,
  wordOf,
} from "../query/openapi/read-parameters.ts";
import { BY, CLOCKS, type Clock, type Grouping, NIGHTS_MAX, type StayQuestion } from "./question.ts";

/** Maximum items per page: a year of ten room types fits. */
export const INSIGHT_LIMIT_MAX = 10_000;

const RANGE = [
  query("from", "The first stay date.", date("2026-07-01"), true),
  query(
    "to",
    `The last stay date, inclusive: at most ${NIGHTS_MAX} nights from the first.`,
    date("2026-07-31"),
    true,
  ),
];

/** Parameters of answers with `asOf` and pages. */
const PAGES = [
  query(
    "asOf",
    "The instant to answer for, inclusive. Default: everything that has been applied.",
    instant("2026-06-15T12:00:00Z"),
  ),
  wordOf(
    "clock",
    "The clock of `asOf`. `source` (PMS time): what the hotel's system had recorded at that instant; records that arrive late correct the answer. `receipt` (received time): what Bellhop had received; at or before the `watermark`, with the same `settingsVersion`, the answer never changes.",
    CLOCKS,
    "receipt",
    "source",
  ),
  whole(
    "limit",
    "The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null.",
    1,
    INSIGHT_LIMIT_MAX,
    1_000,
  ),
  CURSOR_PARAMETER,
];

/** The parameters of every insight about nights. */
export const STAY_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  ...RANGE,
  wordOf(
    "by",
    "The field to group nights by: each item has it under this name, null if it is not reported.",
    BY,
    "roomType",
    "none",
  ),
  ...PAGES,
];

/** The parameters of an insight by date, in total. */
export const TOTAL_PARAMETERS: readonly Parameter[] = [...PROPERTY_PARAMETERS, ...RANGE, ...PAGES];

/** The parameters of an insight by night, in total or by room type. */
export const ROOM_TYPE_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  ...RANGE,
  wordOf("by", "Whether to split nights by room type.", ["none", "roomType"], "roomType", "none"),
  ...PAGES,
];

/** The parameters of the explanation of one stay date. */
export const NIGHT_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  query("stayDate", "The night.", date("2026-07-14"), true),
  ...PAGES,
];

/** An insight's validated parameters. */
export class InsightParameters extends DefinedParameters {
  /** Throws ServiceError `bellhop.http.InvalidParameter` for values outside the definitions. */
  constructor(request: FastifyRequest, definitions: readonly Parameter[]) {
    super(request, definitions);
    const [from, to] = [this.textOf("from"), this.textOf("to")];
    checkOrder(from, to);
    if (from !== undefined && to !== undefined && daysBetween(from, to) >= NIGHTS_MAX)
      throw invalidParameter(
        `from and to may span at most ${NIGHTS_MAX} nights. Query longer periods in parts.`,
      );
    const [since, asOf] = [this.textOf("since"), this.textOf("asOf")];
    if (since !== undefined && asOf !== undefined && since > asOf)
      throw invalidParameter("since must not be after asOf.");
    if (this.textOf("day") !== undefined && (since !== undefined || asOf !== undefined))
      throw invalidParameter("day is the end of a pickup: send it without since and asOf.");
  }

  /** The parameters common to insights, with defaults for those that an insight lacks. */
  get question(): Omit<StayQuestion, "property"> {
    return {
      ...this.codes,
      from: this.textOf("from") ?? "",
      to: this.textOf("to") ?? "",
      by: (this.textOf("by") ?? "none") as Grouping,
      clock: (this.textOf("clock") ?? "receipt") as Clock,
      asOf: this.textOf("asOf") ?? null,
    };
  }
}
