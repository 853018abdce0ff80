import { schemaTypes, type TypedDocument } from "./client-types.ts";

const INSIGHT = "/api/insight/v1/";
/** Responses of the partners' API that the console's types use. */
const ROOTS = [
  "RequestSummary",
  "RecordOutcome",
  "Backfill",
  "BackfillItem",
  "WebhookEndpoint",
  "WebhookAttempt",
  "WebhookDeadLetter",
  "WebhookSecret",
  "CertificationReport",
  "PortfolioReport",
];
const HEAD =
  "/** Generated from docs/openapi.json by `npm run generate -- openapi`: answers of the API, as the service and its console use them. */\n";

/** Items with the same grouping fields. */
const GROUPED = ["OnTheBooksItem", "PickupItem", "PaceItem"];

type Schemas = TypedDocument["components"]["schemas"];

/** The common members of the named schemas, as a base that each extends. */
function commonOf(names: readonly string[], schemas: Schemas): Schemas[string] {
  const [first = {}, ...others] = names.map((name) => schemas[name] ?? {});
  const shared = Object.entries(first.properties ?? {}).filter(([name, one]) =>
    others.every(({ properties }) => JSON.stringify(properties?.[name]) === JSON.stringify(one)),
  );
  return { properties: Object.fromEntries(shared), required: first.required ?? [] };
}

/** The types of src/console/api-types.ts: the roots and the responses of the insights, without descriptions. */
export function answerTypes(document: TypedDocument): string {
  const insights = Object.entries(document.paths).filter(([path]) => path.startsWith(INSIGHT));
  const answers = JSON.stringify(insights.map(([, { get }]) => get?.responses));
  const reached = [...answers.matchAll(/"#\/components\/schemas\/(\w+Page)"/g)].map(([, name = ""]) => name);
  const plain: unknown = JSON.parse(JSON.stringify(document.components.schemas), (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
  const described = plain as Schemas;
  const common = { InsightPage: commonOf(reached, described), GroupedItem: commonOf(GROUPED, described) };
  const roots = [...Object.keys(common), ...reached, ...ROOTS];
  const types = schemaTypes(roots, { ...described, ...common }).map(readOnly);
  return [HEAD, ...types].join("\n");
}

/** Makes the members of a declaration, and their lists, readonly. */
function readOnly(text: string): string {
  return text
    .replace(/^( +)(["\w]+\??: )/gm, "$1readonly $2")
    .replace(/: ([\w.]+|\([^()]*\))\[\]/g, ": readonly $1[]");
}
