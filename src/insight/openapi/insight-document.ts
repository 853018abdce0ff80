import { tokenOperation } from "../../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import { type Operation, type PathItem, type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import { choice, integer, list, objectOf, orNull, text, time } from "../../platform/http/openapi/schema.ts";
import { documented } from "../../platform/http/parameters.ts";
import { NEXT_CURSOR } from "../../query/openapi/read-schemas.ts";
import { DAY_FIELDS } from "../days-of-answer.ts";
import { exampleOf, exampleOfFields, type Insight } from "../insight.ts";
import { INSIGHT_PATH, INSIGHTS } from "../insights.ts";
import { INSIGHT_LIMIT_MAX } from "../parameters.ts";
import { CLOCKS } from "../question.ts";

/** Fields of every answer besides its items. */
const ANSWER_FIELDS: Readonly<Record<string, Schema>> = {
  nextCursor: NEXT_CURSOR,
  clock: choice("The clock of `asOf`.", CLOCKS, "receipt"),
  asOf: orNull(
    time("The requested instant; null: everything that has been applied.", "2026-06-15T12:00:00.000000Z"),
  ),
  watermark: orNull(
    time(
      "With `clock=receipt`: everything received at or before this instant is included, so an answer whose `asOf` is not later, with the same `settingsVersion`, is final. Null with `clock=source`.",
      "2026-06-15T12:00:02.052927Z",
    ),
  ),
  ...DAY_FIELDS,
  settingsVersion: integer(
    "Raised by every change of the client code's settings and status mappings.",
    0,
    2_147_483_647,
    3,
  ),
  knownFrom: time(
    "Present in answers about the past if the operator limits retention. Inventory from before this instant that was replaced since may be missing, as may records from before it that arrived late. An answer whose `asOf` is earlier may lose more later.",
    "2026-03-02T00:00:00.000000Z",
  ),
};

function pageOf({ item, page }: Insight): Schema {
  const items = list("The items of this page.", INSIGHT_LIMIT_MAX, schemaOf(item.name));
  const fields = { ...page.fields, [page.itemsName ?? "items"]: items, ...ANSWER_FIELDS };
  return objectOf(page.description, fields, "knownFrom");
}

const CSV_EXAMPLE = "stayDate,rooms\r\n2026-07-14,31\r\n";

/** The schemas of insights: items, pages and CSV. */
export const INSIGHT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(
    INSIGHTS.map(({ item }) => [
      item.name,
      objectOf(item.description, item.fields, ...(item.optional ?? [])),
    ]),
  ),
  ...Object.fromEntries(INSIGHTS.map((insight) => [insight.page.name, pageOf(insight)])),
  InsightCsv: text(
    "RFC 4180 in UTF-8: a header with the field names, then one line per item. Text that a spreadsheet would read as a formula is prefixed with an apostrophe.",
    16_777_216,
    CSV_EXAMPLE,
  ),
};

/** An example page, by room type. */
function exampleOfPage({ item, page }: Insight): object {
  return {
    [page.itemsName ?? "items"]: [exampleOf(item)],
    nextCursor: null,
    clock: "receipt",
    asOf: "2026-06-15T12:00:00.000000Z",
    watermark: "2026-06-15T12:00:02.052927Z",
    ...exampleOfFields(DAY_FIELDS),
    settingsVersion: 3,
    ...exampleOfFields(page.fields ?? {}),
    ...page.example,
  };
}

function operationOf(insight: Insight): Operation {
  const { operationId, summary, description, parameters, page } = insight;
  const example = { page: { value: exampleOfPage(insight) } };
  const answers = {
    200: {
      description: "A page of the answer.",
      headers: ratedHeadersOf(
        "Cache-Control",
        "Link",
        "X-Watermark",
        "X-Known-From",
        "X-Settings-Version",
        "X-Time-Zone",
        "X-Business-Day",
      ),
      content: {
        "application/json": { schema: schemaOf(page.name), examples: example },
        "text/csv": { schema: schemaOf("InsightCsv"), examples: { page: { value: CSV_EXAMPLE } } },
      },
    },
    400: "InvalidQuestion",
    503: "QuestionUnavailable",
  } as const;
  const words = { operationId, summary, description, parameters: documented(parameters) };
  return tokenOperation("Insight", ["insight:read"], answers, words);
}

export function insightOperations(): Record<string, PathItem> {
  return Object.fromEntries(
    INSIGHTS.map((insight) => [`${INSIGHT_PATH}/${insight.name}`, { get: operationOf(insight) }]),
  );
}
