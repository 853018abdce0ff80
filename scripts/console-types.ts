import { schemaTypes, type TypedDocument } from "./client-types.ts";

const INSIGHT = "/api/insight/v1/";
const HEAD =
  "/** Generated from docs/openapi.json by `npm run openapi:write`: the answers of the insights. Do not edit. */\n";

/** The types of the console's insights: the schemas that their answers reach. The descriptions stay in the document. */
export function consoleTypes(document: TypedDocument): string {
  const insights = Object.entries(document.paths).filter(([path]) => path.startsWith(INSIGHT));
  const answers = JSON.stringify(insights.map(([, { get }]) => get?.responses));
  const roots = [...answers.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = ""]) => name);
  const plain: unknown = JSON.parse(JSON.stringify(document.components.schemas), (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
  return [HEAD, ...schemaTypes(roots, plain as TypedDocument["components"]["schemas"])].join("\n");
}
