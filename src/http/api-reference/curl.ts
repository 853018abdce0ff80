import { type Html, html, joined } from "../../markup/html.ts";
import { type OpenApiDocument, type Operation, type Parameter, resolved } from "../openapi/model.ts";
import { highlightedJson } from "../page/code-block.ts";

/** The parameters that an example shows beside those that are required. */
const SHOWN_PARAMETERS = new Set(["limit"]);

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function exampleOf(document: OpenApiDocument, { schema }: Parameter): string {
  const { examples } =
    schema.examples === undefined ? resolved(document, schema as { $ref: string }) : schema;
  return String((examples as readonly unknown[] | undefined)?.[0] ?? "");
}

function addressOf(server: string, path: string): string {
  if (!path.includes("{")) return server + path;
  return `"${server}${path.replace(/\{(\w+)Id\}/g, (_, name: string) => `$${name.toUpperCase()}`)}"`;
}

/** The parameters of the address, one a line: a long address could not be read. */
function queryLines(document: OpenApiDocument, parameters: readonly Parameter[]): Html[] {
  const shown = parameters.filter(
    ({ name, in: place, required }) => place === "query" && (required === true || SHOWN_PARAMETERS.has(name)),
  );
  return shown.map(
    (parameter) => html`-d ${parameter.name}=${encodeURIComponent(exampleOf(document, parameter))}`,
  );
}

function bodyLines(operation: Operation): Html[] {
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const value = Object.values(media?.examples ?? {})[0]?.value;
  if (type === undefined || value === undefined) return [];
  if (type === "application/json") {
    const json = highlightedJson(value);
    if (json.markup.includes("&#39;"))
      throw new Error("An example's text has a quote, which ends the shell's.");
    return [html`-H 'Content-Type: application/json'`, html`-d '${json}'`];
  }
  const variables: Readonly<Record<string, string>> = {
    client_id: '"$CLIENT_ID"',
    client_secret: '"$CLIENT_SECRET"',
    token: '"$TOKEN"',
  };
  return Object.entries(value as Record<string, string>).map(
    ([name, text]) => html`-d ${name}=${variables[name] ?? quoted(text)}`,
  );
}

/**
 * The operation as a curl command for a POSIX shell, with `$TOKEN`, ids such as `$REQUEST`, `$CLIENT_ID` and `$CLIENT_SECRET` where
 * those belong. `server` is the address of the service, without a slash at its end.
 */
export function curlOf(document: OpenApiDocument, server: string, path: string, operation: Operation): Html {
  const parameters = (operation.parameters ?? []).map((parameter) =>
    resolved(document, parameter),
  ) as Parameter[];
  const needsToken = operation.security.some((scheme) => "oauth2" in scheme);
  const query = queryLines(document, parameters);
  const lines = [
    html`curl ${query.length === 0 ? "" : "-G "}${addressOf(server, path)}`,
    ...(needsToken ? [html`-H "Authorization: Bearer $TOKEN"`] : []),
    ...query,
    ...bodyLines(operation),
  ];
  return joined(lines, " \\\n  ");
}
