import { schemaTypes, type TypedDocument } from "./client-types.ts";

const INSIGHT = "/api/insight/v1/";
/** Answers of the partners' API that the console's are made of. */
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
];
const HEAD =
  "/** Generated from docs/openapi.json by `npm run openapi:write`: answers of the API, as the service and its console use them. */\n";

/** Items that are grouped by the same names. */
const GROUPED = ["OnTheBooksItem", "PickupItem", "PaceItem"];

type Schemas = TypedDocument["components"]["schemas"];

/** What the named schemas have in common, as one that each of them extends. */
function commonOf(names: readonly string[], schemas: Schemas): Schemas[string] {
  const [first = {}, ...others] = names.map((name) => schemas[name] ?? {});
  const shared = Object.entries(first.properties ?? {}).filter(([name, one]) =>
    others.every(({ properties }) => JSON.stringify(properties?.[name]) === JSON.stringify(one)),
  );
  return { properties: Object.fromEntries(shared), required: first.required ?? [] };
}

/** The types of src/console/api-types.ts: the answers of the insights, and the roots. The descriptions stay in the document. */
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

/** The members of a declaration, and their lists, as readonly. */
function readOnly(text: string): string {
  return text
    .replace(/^( +)(["\w]+\??: )/gm, "$1readonly $2")
    .replace(/: ([\w.]+|\([^()]*\))\[\]/g, ": readonly $1[]");
}
