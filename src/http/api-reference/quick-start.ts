import { type Html, html } from "../../markup/html.ts";
import type { DocumentOptions } from "../openapi/options.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../openapi/record-examples.ts";
import { codeBlock } from "../page/code-block.ts";
import { highlightedCode } from "../page/highlight.ts";

function tokenCommand(authUrl: string): string {
  return `CLIENT_ID='your client id'
CLIENT_SECRET='your client secret'

TOKEN=$(curl -sS ${authUrl}/api/oauth2/token \\
  -d grant_type=client_credentials \\
  -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET" |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
echo "$TOKEN"`;
}

/** The source time is the time of the push: a fixed one could be in the future of a wrong clock, or repeat itself. */
function pushCommand(baseUrl: string): string {
  return `REQUEST=$(curl -sS ${baseUrl}/api/public/v1/inventories \\
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
echo "$REQUEST"`;
}

function statusCommand(baseUrl: string): string {
  return `curl -sS "${baseUrl}/api/public/v1/requests/$REQUEST" \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Prefer: wait=5'`;
}

/**
 * From credentials to what became of a first batch, in three commands that can be pasted one after another into a POSIX
 * shell. With `sandbox` it also says where the credentials of the sandbox client are.
 */
export function quickStart(
  { baseUrl, authUrl }: NonNullable<DocumentOptions["addresses"]>,
  sandbox: boolean,
): Html {
  const credentials = sandbox
    ? html`This is a sandbox: the terminal in which the service was started shows a client id and its secret.`
    : html`Your operator gives you a client id and a secret.`;
  const codes = sandbox
    ? html`The sandbox client may push <code>${EXAMPLE_CLIENT}</code>.`
    : html`Put your own <code>clientCode</code> and <code>propertyCode</code> in.`;
  return html`<ol class="steps">
<li><h3 id="get-a-token">Get a token</h3><p>${credentials} A token lasts an hour: keep it.</p>${codeBlock("Shell", highlightedCode("sh", tokenCommand(authUrl)), true)}</li>
<li><h3 id="push-a-first-batch">Push a first batch</h3><p>${codes} The answer is <strong>202</strong> and the UUID of your request: the batch is on disk.</p>${codeBlock("Shell", highlightedCode("sh", pushCommand(baseUrl)), true)}</li>
<li><h3 id="see-what-became-of-it">See what became of it</h3><p>Usually within a second: how many records were applied, and everything worth knowing about the others.</p>${codeBlock("Shell", highlightedCode("sh", statusCommand(baseUrl)), true)}</li>
</ol>`;
}
