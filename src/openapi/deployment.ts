import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../ingest/openapi/record-examples.ts";
import {
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolved,
} from "../platform/http/openapi/model.ts";
import type { DocumentOptions } from "../platform/http/openapi/options.ts";
import { buildOpenApiDocument } from "./document.ts";

export interface Deployment extends DocumentOptions {
  readonly addresses: NonNullable<DocumentOptions["addresses"]>;
  /** The id of the sandbox client, whose secret was printed at startup; undefined if there is none. */
  readonly sandboxId: string | undefined;
}

/** Optional parameters that examples include. */
const SHOWN_PARAMETERS = new Set(["limit"]);

/** The OpenAPI document of a deployment, with shell commands: first steps, and one per operation. */
export function describeDeployment(deployment: Deployment): object {
  const document = buildOpenApiDocument(deployment);
  const { baseUrl } = deployment.addresses;
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => {
        const source = curlOf(document, operation.servers?.[0]?.url ?? baseUrl, path, operation);
        return [method, { ...operation, "x-codeSamples": [{ lang: "Shell", label: "curl", source }] }];
      }),
    ),
  ]);
  const [opening, ...chapters] = document.info.description.split(/\n\n(?=## )/);
  const description = [opening, firstSteps(deployment), ...chapters].join("\n\n");
  return { ...document, info: { ...document.info, description }, paths: Object.fromEntries(paths) };
}

/** The operation as a curl command for a POSIX shell, with variables such as `$TOKEN`, `$REQUEST`, `$CLIENT_ID` and `$CLIENT_SECRET`. */
function curlOf(document: OpenApiDocument, server: string, path: string, operation: Operation): string {
  const parameters = (operation.parameters ?? []).map((parameter) =>
    resolved(document, parameter),
  ) as Parameter[];
  // One parameter per line for readability.
  const query = parameters
    .filter(({ name, in: place, required }) => place === "query" && (required || SHOWN_PARAMETERS.has(name)))
    .map((parameter) => `-d ${parameter.name}=${encodeURIComponent(exampleOf(document, parameter))}`);
  const ids = path.replace(/\{(\w+)Id\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  return [
    `curl ${query.length === 0 ? "" : "-G "}${ids === path ? server + path : `"${server}${ids}"`}`,
    ...(operation.security.some((scheme) => "oauth2" in scheme) ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...query,
    ...bodyOf(operation),
  ].join(" \\\n  ");
}

function exampleOf(document: OpenApiDocument, { schema }: Parameter): string {
  const { examples } =
    schema.examples === undefined ? resolved(document, schema as { $ref: string }) : schema;
  return String(examples?.[0] ?? "");
}

function bodyOf(operation: Operation): string[] {
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const value = Object.values(media?.examples ?? {})[0]?.value;
  if (type === undefined || value === undefined) return [];
  if (type === "application/json")
    return ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(value, null, 2))}`];
  const variables: Readonly<Record<string, string>> = {
    client_id: '"$CLIENT_ID"',
    client_secret: '"$CLIENT_SECRET"',
    token: '"$TOKEN"',
  };
  return Object.entries(value as Record<string, string>).map(
    ([name, text]) => `-d ${name}=${variables[name] ?? quoted(text)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** From credentials to the outcome of a first batch, in three POSIX shell commands. */
function firstSteps({ addresses: { baseUrl, authUrl }, sandboxId }: Deployment): string {
  // Use the current time as source time: a fixed one could be in the future of a wrong clock, or repeated.
  return `## First steps

The base URL of this deployment is \`${baseUrl}\`. ${
    sandboxId !== undefined
      ? `It has a sandbox client, which may push \`${EXAMPLE_CLIENT}\`: the terminal in which the service was started shows its secret.`
      : "Your operator gives you a client id and a secret, and the `clientCode` and `propertyCode` to use."
  }

Get a token. It is valid for an hour; reuse it.

\`\`\`sh
CLIENT_ID='${sandboxId ?? "your client id"}'
CLIENT_SECRET='your client secret'

TOKEN=$(curl -sS ${authUrl}/api/oauth2/token \\
  -d grant_type=client_credentials \\
  -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET" |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
echo "$TOKEN"
\`\`\`

Push a batch. **202** and a UUID mean that it is durably stored.

\`\`\`sh
REQUEST=$(curl -sS ${baseUrl}/api/public/v1/inventories \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -H 'Accept: text/plain' \\
  -w '%{stderr}HTTP %{http_code}\\n' \\
  --data-binary @- <<BATCH
[{
  "clientCode": "${EXAMPLE_CLIENT}",
  "propertyCode": "${EXAMPLE_PROPERTY}",
  "createDateTime": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "occupancyDate": "2026-07-15",
  "roomTypeInventories": [
    {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 31}
  ]
}]
BATCH
)
echo "$REQUEST"
\`\`\`

Read the outcome of each record, usually within a second.

\`\`\`sh
curl -sS "${baseUrl}/api/public/v1/requests/$REQUEST" \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Prefer: wait=5'
\`\`\``;
}
