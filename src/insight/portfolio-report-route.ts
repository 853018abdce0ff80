import type { FastifyReply, FastifyRequest } from "fastify";
import { daysBetween } from "#contract/dates.ts";
import { KEPT_RANGES, type Nights } from "#contract/night-ranges.ts";
import { lacksGrant } from "../identity/authorize.ts";
import { arrangeGrants, type Grant, type Grants, grantsInclude, parseGrant } from "../identity/grants.ts";
import type { Principal } from "../identity/permissions.ts";
import { keysOf, type Scope } from "../identity/scope.ts";
import { readFor } from "../platform/db/connection.ts";
import { jsonAnswer } from "../platform/http/openapi/errors.ts";
import { schemaOf } from "../platform/http/openapi/model.ts";
import { component, exampleOf } from "../platform/http/openapi/schema.ts";
import { code, type Declared, date, type ValuesOf, word } from "../platform/http/parameters.ts";
import { checkOrder, decodeFormText, invalidParameter } from "../platform/http/read-parameters.ts";
import { readingFor } from "../platform/http/reader.ts";
import { endpointOf } from "../query/endpoint.ts";
import { REPORT_FIELDS } from "./daily-report.ts";
import * as field from "./fields.ts";
import { prefersCsv, sendCsv } from "./insight-answers.ts";
import { askInTurn, type PartnerInsightContext, QUESTION_TIME } from "./insight-routes.ts";
import { INSIGHT_PATH } from "./insights.ts";
import { notSummed, SUM_NAMES, SUMS } from "./periods.ts";
import {
  buildPortfolioReport,
  HOTELS_MAX,
  type PortfolioReport,
  type PortfolioReportQuestion,
  type RowsBy,
} from "./portfolio-report.ts";

/** The month until now, and 90 nights. */
const REPORT_NIGHTS_MAX = 124;
const HOTELS_NAMED_MAX = 200;
/** Room for that many pairs of codes, written with escapes. */
const HOTELS_CHARACTERS_MAX = 8_000;
/** As the document promises; a report has fewer. */
const ROWS_MAX = 100_000;

/** `ACME/PARIS01,ACME/ROME02`, or `ACME/*`: grants; a comma or per cent sign within a code is percent-encoded. */
function hotels(description: string, example: string): Declared<Grants> {
  const takes = "CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for all of a client code, separated by commas";
  return {
    in: "query",
    description,
    schema: {
      type: "string",
      pattern: "^[^\\u0000]*$",
      minLength: 3,
      maxLength: HOTELS_CHARACTERS_MAX,
      examples: [example],
    },
    read(text, name) {
      const texts = text.split(",");
      if (texts.length > HOTELS_NAMED_MAX)
        throw invalidParameter(`${name} takes at most ${HOTELS_NAMED_MAX} hotels.`);
      const grants = texts.map((one): Grant => {
        const decoded = decodeFormText(one.replaceAll("+", "%2B"));
        const grant = decoded === undefined ? "" : parseGrant(decoded);
        if (typeof grant === "string") throw invalidParameter(`${name} takes ${takes}.`);
        return grant;
      });
      return arrangeGrants(grants);
    },
    absent: () => undefined,
  };
}

const PARAMETERS = {
  range: word(
    "The nights, by the earliest business day of the hotels; `from` and `to` instead name dates.",
    KEPT_RANGES,
    "next30",
    "next30",
  ),
  from: date("The first stay date. Only with `to`.", "2026-07-01"),
  to: date(
    "The last stay date, inclusive. Figures are kept of the current month and of the next 90 nights.",
    "2026-07-31",
  ),
  hotels: hotels(
    "Only these hotels: `CLIENTCODE/PROPERTYCODE`, or `CLIENTCODE/*`, separated by commas. Within a code, a comma is written as `%2C` and a per cent sign as `%25`, before the value is encoded for the address.",
    "ACME/PARIS01,ACME/ROME02",
  ),
  search: code("Only hotels whose codes, name or city have all these words.", "grand paris"),
  city: code("Only hotels of this city (a setting of each property).", "Paris"),
  sum: word(
    "What to add up: as in the report of one hotel, or `property`, which returns one item for each hotel and currency, of all nights.",
    [...SUMS, "property"],
    "week",
    "none",
  ),
  comparable: word(
    "`lastYear` leaves out hotels whose last year is not known for all the nights, and names them in `missing`.",
    ["all", "lastYear"],
    "lastYear",
    "all",
  ),
};
export const PORTFOLIO_REPORT_PARAMETERS = PARAMETERS;
type Parameters = ValuesOf<typeof PARAMETERS>;

const NAMED = {
  clientCode: field.code("The client code.", "ACME"),
  propertyCode: field.code("The property code.", "PARIS01"),
  name: field.orNull(field.text("The hotel's name, a setting. Null: not set.", "Grand Paris")),
};
const OF_HOTEL = {
  clientCode: field.code("With `sum=property`: the hotel's client code.", "ACME"),
  propertyCode: field.code("With `sum=property`: its property code.", "PARIS01"),
  name: field.orNull(field.text("With `sum=property`: its name.", "Grand Paris")),
};
const ITEM_FIELDS = {
  ...OF_HOTEL,
  ...REPORT_FIELDS,
  properties: field.count("The hotels that have this night, or period, and currency.", 12),
};
const ABSENT = [...SUM_NAMES, ...(Object.keys(OF_HOTEL) as (keyof typeof OF_HOTEL)[])];
const ITEM = component(
  "PortfolioReportItem",
  field.objectOf(
    "The report of one night, of the dates added up, or of one hotel, in one currency.",
    ITEM_FIELDS,
    ...ABSENT,
  ),
);

const MISSING = {
  ...NAMED,
  reason: {
    ...field.text(
      "`noFigures`: none are computed yet, or too many records; `nights`: not of all these nights; `lastYear`: with `comparable=lastYear`, last year is not known.",
      "noFigures",
    ),
    "x-extensible-enum": ["noFigures", "nights", "lastYear"],
  },
  asOf: field.orNull(
    field.time("The instant of the hotel's figures; null: none.", "2026-06-15T12:00:04.120Z"),
  ),
};
const UNKNOWN = {
  ...NAMED,
  figures: field.list(
    "What it does not know: `lastYear`, `pickup1`, `pickup3`, `pickup7`, `pickup30`.",
    10,
    field.text("A figure.", "lastYear"),
  ),
};

const REPORT = {
  from: field.day("The first night.", "2026-07-01"),
  to: field.day("The last night.", "2026-07-31"),
  items: field.list("By date and currency; with `sum=property` by hotel and currency.", ROWS_MAX, ITEM),
  totals: field.list("The sum of all nights and hotels, by currency.", ROWS_MAX, ITEM),
  properties: field.count("The hotels that are added up.", 12),
  missing: field.list(
    "The hotels that are not added up, and why.",
    HOTELS_MAX,
    component("MissingHotel", field.objectOf("A hotel that is not added up.", MISSING)),
  ),
  unknown: field.list(
    "The hotels that are added up and do not know some of the figures: the sums of these are null.",
    HOTELS_MAX,
    component("UnknownFigures", field.objectOf("A hotel that does not know some figures.", UNKNOWN)),
  ),
  oldestAsOf: field.orNull(
    field.time("The oldest instant of the hotels' figures; null without hotels.", "2026-06-15T11:12:00.041Z"),
  ),
  newestAsOf: field.orNull(field.time("The newest of them.", "2026-06-15T12:00:04.120Z")),
  businessDay: field.day("The earliest business day of the hotels now.", "2026-06-15"),
  lastBusinessDay: field.day("The latest of them.", "2026-06-15"),
};
const ANSWER = component("PortfolioReport", field.objectOf("The daily report of several hotels.", REPORT));

/** Throws ServiceError `bellhop.http.InvalidParameter`. */
function nightsOfParameters({ range, from, to }: Parameters): PortfolioReportQuestion["nights"] {
  if ((from === undefined) !== (to === undefined))
    throw invalidParameter("from and to must be given together.");
  if (from === undefined || to === undefined) return range;
  checkOrder(from, to);
  const nights: Nights = { from, to };
  if (daysBetween(from, to) >= REPORT_NIGHTS_MAX)
    throw invalidParameter(`from and to may span at most ${REPORT_NIGHTS_MAX} nights.`);
  return nights;
}

/** The question of a request. */
export function portfolioQuestionOf(
  parameters: Parameters,
  within: Pick<Scope, "keys">,
): PortfolioReportQuestion {
  const { hotels: named, search, city, sum, comparable } = parameters;
  const isComparable = comparable === "lastYear";
  return { within, hotels: named, search, city, nights: nightsOfParameters(parameters), sum, isComparable };
}

/** The fields that items do not have. */
const notAsked = (sum: RowsBy): readonly string[] =>
  sum === "property"
    ? ["dayOfWeek"]
    : [...notSummed(sum === "none" ? undefined : sum), ...Object.keys(OF_HOTEL)];

/** Refuses a hotel that is not granted, before anything is looked up. Throws EmptyRefusal. */
function requireHotels(granted: Grants, asked: Grants | undefined): void {
  for (const [clientCode, properties] of asked ?? [])
    for (const propertyCode of properties)
      if (
        !(propertyCode === "*" ? granted.has(clientCode) : grantsInclude(granted, clientCode, propertyCode))
      )
        throw lacksGrant(clientCode, propertyCode);
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  report: PortfolioReport,
  sum: RowsBy,
): Promise<PortfolioReport | FastifyReply> {
  reply.header("vary", "accept");
  if (!prefersCsv(request)) return report;
  return sendCsv(reply.header("cache-control", "no-store"), report.items, ITEM_FIELDS, notAsked(sum));
}

const answered = jsonAnswer("The report.", ANSWER, {
  month: exampleOf(REPORT, { items: [], totals: [], missing: [], unknown: [] }),
});

const portfolioReport = endpointOf<PartnerInsightContext>()({
  method: "get",
  path: `${INSIGHT_PATH}/portfolio-report`,
  tag: "Insight",
  scopes: ["insight:read"],
  operationId: "getPortfolioReport",
  summary: "Get the daily pickup report of several hotels",
  description:
    "The daily report of all hotels that are granted to the client, or of some of them, added up by stay date and currency, with the definitions of the report of one hotel. It is added up from figures that are kept of each hotel and renewed within a minute of a change. A hotel whose figures are missing is named in `missing` and not added up.",
  parameters: PARAMETERS,
  answer: {
    ...answered,
    content: {
      ...answered.content,
      "text/csv": {
        schema: schemaOf("InsightCsv"),
        examples: { report: { value: "stayDate,rooms\r\n2026-07-14,31\r\n" } },
      },
    },
  },
  refusals: { 400: "InvalidQuestion", 503: "QuestionUnavailable" },
  async work({ context, request, reply, principal, parameters }) {
    const questionOf = ({ grants }: Principal) => {
      requireHotels(grants, parameters.hotels);
      return portfolioQuestionOf(parameters, { keys: keysOf(grants) });
    };
    questionOf(principal);
    const reading = readingFor(reply.raw, QUESTION_TIME);
    const build = (current: Principal) =>
      readFor(reading, () => buildPortfolioReport(context.questions, questionOf(current)));
    return send(request, reply, await askInTurn(context, request, build, reading), parameters.sum);
  },
});

export const PORTFOLIO_ENDPOINTS = [portfolioReport];
