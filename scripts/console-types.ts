import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";

const INSIGHT = "/api/insight/v1/";
const HEAD =
  "/** Generated from docs/openapi.json by `npm run openapi:write`: the answers of the insights. Do not edit. */\n\n";

/** The types of the console's insights: the schemas that their answers reach. The descriptions stay in the document. */
export async function consoleTypes(document: OpenAPI3): Promise<string> {
  const all = document.components?.schemas ?? {};
  const insights = Object.entries(document.paths ?? {}).filter(([path]) => path.startsWith(INSIGHT));
  const schemas: Record<string, unknown> = {};
  const reach = (part: unknown) => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name in schemas) continue;
      schemas[name] = all[name];
      reach(all[name]);
    }
  };
  for (const [, path] of insights) reach((path as { get: { responses: object } }).get.responses);
  const { openapi, info } = document;
  const ast = await openapiTS({ openapi, info, paths: {}, components: { schemas } } as OpenAPI3, {
    immutable: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  });
  return HEAD + astToString(ast, { formatOptions: { removeComments: true } });
}
