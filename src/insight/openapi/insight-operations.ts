import { ANYWHERE } from "../../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import {
  type Operation,
  type Parameter,
  type PathItem,
  refTo,
  schemaOf,
} from "../../platform/http/openapi/model.ts";
import {
  CURSOR_PARAMETER,
  date,
  instant,
  PROPERTY_PARAMETERS,
  query,
} from "../../query/openapi/read-parameters.ts";
import { BY, CLOCKS, NIGHTS_MAX } from "../question.ts";
import { INSIGHT_LIMIT_MAX, type InsightItemName, insightExample } from "./insight-schemas.ts";

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
const ROOM_TYPE_PARAMETERS: readonly Parameter[] = [
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
const HOLDING_PARAMETER = query(
  "holding",
  "`yes`: groups whose label holds rooms. `no`: all others, also those whose label nobody has mapped.",
  { type: "string", enum: ["yes", "no"], default: "yes", examples: ["yes"] },
);

/** The parameters of one night taken apart. */
const NIGHT_PARAMETERS: readonly Parameter[] = [
  ...PROPERTY_PARAMETERS,
  query("stayDate", "The night.", date("2026-07-14"), true),
  asOf,
  clock,
  limit,
  CURSOR_PARAMETER,
];

/** The parameters of every insight about nights. */
const STAY_PARAMETERS: readonly Parameter[] = [
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
const SINCE_PARAMETER = query(
  "since",
  "The instant after which changes count, by the same clock; itself not included, so that periods can follow each other.",
  instant("2026-06-08T12:00:00Z"),
  true,
);

/** How far back a booking curve reaches. */
const DAYS_BEFORE_PARAMETER = query(
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

/** Where insights are asked for. */
export const INSIGHT_PATH = "/api/insight/v1";

/** What is documented of an insight, and checked of its questions: one definition for both. */
export interface InsightDefinition {
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly itemName: InsightItemName;
  readonly pageName: string;
}

/** Every insight, by name. */
export const INSIGHTS = {
  onTheBooks: {
    name: "on-the-books",
    operationId: "readOnTheBooks",
    summary: "What is on the books",
    description:
      "Rooms, revenue and guests of each night, beside capacity and what inventory reports sold, at any instant. A night that has nothing is not listed, unless inventory tells of its rooms.",
    parameters: STAY_PARAMETERS,
    itemName: "OnTheBooksItem",
    pageName: "OnTheBooksPage",
  },
  pickup: {
    name: "pickup",
    operationId: "readPickup",
    summary: "What came onto the books between two instants",
    description:
      "The difference of each night's books at `asOf` from those at `since`. What was booked and taken back in between is nothing; a night that did not change is not listed.",
    parameters: [...STAY_PARAMETERS, SINCE_PARAMETER],
    itemName: "PickupItem",
    pageName: "PickupPage",
  },
  pace: {
    name: "pace",
    operationId: "readPace",
    summary: "How nights were booked, beside the year before",
    description:
      "The booking curve of all nights from `from` to `to` together: what was on the books so many days before each, at the end of that business day, beside the nights 364 days before. From `daysBefore` down to 0, by group and currency.",
    parameters: [...STAY_PARAMETERS, DAYS_BEFORE_PARAMETER],
    itemName: "PaceItem",
    pageName: "PacePage",
  },
  blocks: {
    name: "blocks",
    operationId: "readBlocks",
    summary: "Group blocks by night",
    description:
      "Rooms held for each group, picked up (as its master says and as reservations name it), remaining and given back, at any instant.",
    parameters: [...ROOM_TYPE_PARAMETERS, HOLDING_PARAMETER],
    itemName: "BlocksItem",
    pageName: "BlocksPage",
  },
  reconciliation: {
    name: "reconciliation",
    operationId: "readReconciliation",
    summary: "Sold as reported against rooms as rebuilt",
    description:
      "Night by night: rooms sold as inventory reports them, rooms of the reservations on the books, and the difference. A night without either is not listed.",
    parameters: ROOM_TYPE_PARAMETERS,
    itemName: "ReconciliationItem",
    pageName: "ReconciliationPage",
  },
  night: {
    name: "reconciliation/night",
    operationId: "readReconciledNight",
    summary: "One night taken apart",
    description:
      "The reservations and records behind a night's difference, and what may explain it. Findings are of the whole night on every page; CSV has the reservations.",
    parameters: NIGHT_PARAMETERS,
    itemName: "NightReservationItem",
    pageName: "NightReconciliationPage",
  },
  feedHealth: {
    name: "feed-health",
    operationId: "readFeedHealth",
    summary: "How a property's feeds do",
    description:
      "Of each resource: when the last batch came, how often they come, whether the feed is silent, what waits, what became of the records of the last days, labels without a meaning, and nights of inventory that are missing.",
    parameters: PROPERTY_PARAMETERS,
    itemName: "FeedHealthItem",
    pageName: "FeedHealthPage",
  },
} as const satisfies Record<string, InsightDefinition>;

function operationOf(insight: InsightDefinition): Operation {
  const { operationId, summary, description, parameters, itemName, pageName } = insight;
  return {
    operationId,
    summary,
    description,
    parameters,
    tags: ["Insight"],
    security: [{ oauth2: ["insight:read"] }],
    responses: {
      ...ANYWHERE,
      200: {
        description: "A page of the answer.",
        headers: ratedHeadersOf("Cache-Control", "Link", "X-Watermark", "X-Known-From", "X-Settings-Version"),
        content: {
          "application/json": {
            schema: schemaOf(pageName),
            examples: { page: { value: insightExample(itemName) } },
          },
          "text/csv": {
            schema: schemaOf("InsightCsv"),
            examples: { page: { value: "stayDate,rooms\r\n2026-07-14,31\r\n" } },
          },
        },
      },
      400: refTo("responses", "InvalidQuestion"),
      401: refTo("responses", "NoToken"),
      403: refTo("responses", "Forbidden"),
      429: refTo("responses", "TooManyRequests"),
      500: refTo("responses", "Internal"),
      503: refTo("responses", "QuestionUnavailable"),
    },
  };
}

/** What insights answer. */
export function insightOperations(): Record<string, PathItem> {
  return Object.fromEntries(
    Object.values(INSIGHTS).map((insight) => [
      `${INSIGHT_PATH}/${insight.name}`,
      { get: operationOf(insight) },
    ]),
  );
}
