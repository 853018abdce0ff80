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

/** The types of src/console/api-types.ts: the answers of the insights, and the roots. The descriptions stay in the document. */
export function answerTypes(document: TypedDocument): string {
  const insights = Object.entries(document.paths).filter(([path]) => path.startsWith(INSIGHT));
  const answers = JSON.stringify(insights.map(([, { get }]) => get?.responses));
  const reached = [...answers.matchAll(/"#\/components\/schemas\/(\w+Page)"/g)].map(([, name = ""]) => name);
  const plain: unknown = JSON.parse(JSON.stringify(document.components.schemas), (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
  const schemas = plain as TypedDocument["components"]["schemas"];
  const types = schemaTypes([...reached, ...ROOTS], schemas).map(readOnly);
  return [HEAD, ...types].join("\n");
}

/** The members of a declaration, and their lists, as readonly. */
function readOnly(text: string): string {
  return text
    .replace(/^( +)(["\w]+\??: )/gm, "$1readonly $2")
    .replace(/: ([\w.]+|\([^()]*\))\[\]/g, ": readonly $1[]");
}
