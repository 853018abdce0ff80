import type { Parameter } from "../../platform/http/openapi/model.ts";
import {
  CURSOR_PARAMETER,
  date,
  instant,
  PROPERTY_PARAMETERS,
  query,
} from "../../query/openapi/read-parameters.ts";
import { BY, CLOCKS, NIGHTS_MAX } from "../question.ts";

/** How many items an insight answers at most at once: a year of ten room types in one page. */
export const INSIGHT_LIMIT_MAX = 10_000;
const INSIGHT_LIMIT_DEFAULT = 1_000;
const DAYS_BEFORE_MAX = 1_100;
const DAYS_BEFORE_DEFAULT = 365;

const from = query("from", "The first stay date.", date("2026-07-01"), true);
const to = query(
  "to",
  `The last stay date, included: at most ${NIGHTS_MAX} nights from the first.`,
  date("2026-07-31"),
  true,
);

const by = query(
  "by",
  "What nights are grouped by: each item has it under this name, null where it is not told.",
  {
    type: "string",
    enum: [...BY],
    default: "none",
    examples: ["roomType"],
  },
);

const asOf = query(
  "asOf",
  "The instant that the answer is of, included. Without it: all that has been applied.",
  instant("2026-06-15T12:00:00Z"),
);

const clock = query(
  "clock",
  "Whose clock `asOf` is read on. `source`: what the hotel's system said at that instant, whenever it was received; what comes late corrects the answer. `receipt`: what had been received here; at or below the answer's `watermark`, with the same `settingsVersion`, it never changes.",
  { type: "string", enum: [...CLOCKS], default: "source", examples: ["receipt"] },
);

const limit = query(
  "limit",
  "How many items a page has at most. A page may have fewer, even none: go on while there is a `nextCursor`.",
  {
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: INSIGHT_LIMIT_MAX,
    default: INSIGHT_LIMIT_DEFAULT,
    examples: [INSIGHT_LIMIT_DEFAULT],
  },
);

const byRoomType = query("by", "Whether nights are told by room type.", {
  type: "string",
  enum: ["none", "roomType"],
  default: "none",
  examples: ["roomType"],
});

/** The parameters of what is told of nights as a whole or by room type. */
export const ROOM_TYPE_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  from,
  to,
  byRoomType,
  asOf,
  clock,
  limit,
  CURSOR_PARAMETER,
];

/** Which groups' blocks. */
export const HOLDING_PARAMETER = query(
  "holding",
  "`yes`: groups whose label holds rooms. `no`: all others, also those whose label nobody has mapped.",
  { type: "string", enum: ["yes", "no"], default: "yes", examples: ["yes"] },
);

/** The parameters of one night taken apart. */
export const NIGHT_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  query("stayDate", "The night.", date("2026-07-14"), true),
  asOf,
  clock,
  limit,
  CURSOR_PARAMETER,
];

/** The parameters of every insight about nights. */
export const STAY_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  from,
  to,
  by,
  asOf,
  clock,
  limit,
  CURSOR_PARAMETER,
];

/** The instant from which pickup counts. */
export const SINCE_PARAMETER = query(
  "since",
  "The instant after which changes count, by the same clock; itself not included, so that periods can follow each other.",
  instant("2026-06-08T12:00:00Z"),
  true,
);

/** How far back a booking curve reaches. */
export const DAYS_BEFORE_PARAMETER = query(
  "daysBefore",
  "So many days before the night the curve begins. What was booked earlier is on the books at its first point.",
  {
    type: "integer",
    format: "int32",
    minimum: 0,
    maximum: DAYS_BEFORE_MAX,
    default: DAYS_BEFORE_DEFAULT,
    examples: [DAYS_BEFORE_DEFAULT],
  },
);
