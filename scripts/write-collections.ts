/**
 * `npm run generate -- collections`: a Postman collection with its environment and a Bruno folder in `docs/collections`, made from
 * docs/openapi.json. `npm run campaign -- collections` runs them with the vendors' own programs.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../src/ingest/openapi/record-examples.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
  }[];
  readonly requestBody?: unknown;
}

interface Request {
  readonly folder: string;
  readonly name: string;
  readonly method: string;
  /** With `{{variables}}`. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  readonly status: number;
}

const OUT = fileURLToPath(new URL("../docs/collections/", import.meta.url));

/** The operations in the order of a first session: those that need the id of a backfill or a webhook endpoint are left out. */
const OPERATIONS: readonly string[] = [
  "pushInventories",
  "pushReservations",
  "pushGroups",
  "getRequest",
  "listRequests",
  "listInventories",
  "listReservations",
  "listGroups",
  "listInventoriesHistory",
  "listReservationsHistory",
  "listGroupsHistory",
  "listChanges",
  "listBackfills",
  "listWebhooks",
  "getOnTheBooks",
  "getPickup",
  "getPace",
  "getMovements",
  "getBlocks",
  "getReconciliation",
  "getReconciledNight",
  "getFeedHealth",
];

/** The values of required parameters: they fit the records that the pushes send. */
const VALUES: Readonly<Record<string, string>> = {
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  from: "2026-07-14",
  to: "2026-07-16",
  stayDate: "2026-07-14",
  occupancyDate: "2026-07-14",
};
const IDENTITIES = { reservationId: "reservations", groupCode: "groups" } as const;

const document = JSON.parse(
  await readFile(new URL("../docs/openapi.json", import.meta.url), "utf8"),
) as Record<string, unknown>;

function resolved(value: unknown): Record<string, unknown> {
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined) return value as Record<string, unknown>;
  const steps = $ref.slice(2).split("/");
  return resolved(steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document));
}

/** The first example of a request's body. */
function exampleOf(requestBody: unknown): unknown {
  if (requestBody === undefined) return undefined;
  const { content } = resolved(requestBody) as { content: Record<string, Record<string, unknown>> };
  const { example, examples } = content["application/json"] ?? {};
  if (example !== undefined) return example;
  const [first] = Object.values((examples ?? {}) as Record<string, unknown>);
  return first === undefined ? undefined : (resolved(first) as { value: unknown })["value"];
}

function requestsOf(): Request[] {
  const found = new Map<string, Request>();
  const bodies = new Map<string, readonly Record<string, unknown>[]>();
  const operations = Object.entries(document["paths"] as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (const { path, operation } of operations) {
    const body = exampleOf(operation.requestBody);
    if (Array.isArray(body)) bodies.set(path.split("/").at(-1) as string, body);
  }
  const valueNamed = (name: string): string => {
    const resource = IDENTITIES[name as keyof typeof IDENTITIES];
    const value = VALUES[name] ?? bodies.get(resource)?.[0]?.[name];
    if (typeof value !== "string") throw new Error(`The parameter ${name} needs a value.`);
    return value;
  };
  for (const { path, method, operation } of operations) {
    const { operationId, summary, tags, parameters = [] } = operation;
    const body = exampleOf(operation.requestBody);
    const needed = parameters
      .map((parameter) => resolved(parameter))
      .filter((parameter) => parameter["in"] === "query" && parameter["required"] === true);
    found.set(operationId, {
      folder: tags[0] ?? "Other",
      name: summary,
      method: method.toUpperCase(),
      path: path.replace("{requestId}", "{{requestId}}"),
      query: OPERATIONS.includes(operationId)
        ? needed.map(({ name }) => [String(name), valueNamed(String(name))] as const)
        : [],
      // The outcome is then known when the next request asks for it.
      headers: Array.isArray(body) ? [["Prefer", "wait=5"]] : [],
      body: body === undefined ? undefined : JSON.stringify(body, null, 2),
      status: method === "post" ? 202 : 200,
    });
  }
  return OPERATIONS.map((id) => {
    const request = found.get(id);
    if (request === undefined) throw new Error(`The OpenAPI document has no operation ${id}.`);
    return request;
  });
}

/** The token belongs to one installation and client: another `baseUrl` or `clientId` needs another. */
const TOKEN_SCRIPT = `const baseUrl = pm.environment.get("baseUrl");
const clientId = pm.environment.get("clientId");
const tokenOf = baseUrl + " " + clientId;
const renewAt = Number(pm.collectionVariables.get("renewAt") || 0);
if (pm.collectionVariables.get("tokenOf") === tokenOf && Date.now() < renewAt) return;
pm.collectionVariables.set("token", "");
pm.collectionVariables.set("renewAt", "");
pm.sendRequest({
  url: baseUrl + "/api/oauth2/token",
  method: "POST",
  header: { "Content-Type": "application/x-www-form-urlencoded" },
  body: { mode: "urlencoded", urlencoded: [
    { key: "grant_type", value: "client_credentials" },
    { key: "client_id", value: clientId },
    { key: "client_secret", value: pm.environment.get("clientSecret") },
  ] },
}, (error, response) => {
  if (error || response.code !== 200) {
    console.error("No token: " + (error || response.text()));
    return;
  }
  const { access_token, expires_in } = response.json();
  pm.collectionVariables.set("token", access_token);
  pm.collectionVariables.set("tokenOf", tokenOf);
  pm.collectionVariables.set("renewAt", Date.now() + (expires_in - 60) * 1000);
});`;

const lines = (script: string) => ({ type: "text/javascript", exec: script.split("\n") });

function postmanItem({ name, method, path, query, headers, body, status }: Request): object {
  const test = [
    `pm.test("${status}", () => {`,
    '  if (!pm.collectionVariables.get("token")) pm.expect.fail("no token: the console shows why");',
    `  pm.response.to.have.status(${status});`,
    "});",
    ...(status === 202
      ? [
          'if (pm.response.code === 202) pm.collectionVariables.set("requestId", pm.response.json().requestId);',
        ]
      : []),
  ];
  const search = query.map(([key, value]) => `${key}=${value}`).join("&");
  return {
    name,
    event: [{ listen: "test", script: { type: "text/javascript", exec: test } }],
    request: {
      method,
      header: [
        ...headers.map(([key, value]) => ({ key, value })),
        ...(body === undefined ? [] : [{ key: "Content-Type", value: "application/json" }]),
      ],
      url: {
        raw: `{{baseUrl}}${path}${search === "" ? "" : `?${search}`}`,
        host: ["{{baseUrl}}"],
        path: path.slice(1).split("/"),
        query: query.map(([key, value]) => ({ key, value })),
      },
      ...(body === undefined ? {} : { body: { mode: "raw", raw: body } }),
    },
  };
}

function postmanCollection(requests: readonly Request[]): object {
  const folders = [...new Set(requests.map(({ folder }) => folder))];
  return {
    info: {
      name: "Bellhop",
      description:
        "Set clientId and clientSecret in the environment. A script takes the token and reuses it until baseUrl or clientId differ or it expires.",
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{token}}", type: "string" }] },
    event: [{ listen: "prerequest", script: lines(TOKEN_SCRIPT) }],
    variable: ["token", "tokenOf", "renewAt", "requestId"].map((key) => ({ key, value: "" })),
    item: folders.map((folder) => ({
      name: folder,
      item: requests.filter((request) => request.folder === folder).map(postmanItem),
    })),
  };
}

const POSTMAN_ENVIRONMENT = {
  name: "Bellhop sandbox",
  values: [
    { key: "baseUrl", value: "http://127.0.0.1:8080", enabled: true },
    { key: "clientId", value: "", enabled: true },
    { key: "clientSecret", value: "", type: "secret", enabled: true },
  ],
};

const indented = (text: string) => text.replaceAll(/^(?=.)/gm, "  ");
const block = (name: string, content: string) => `${name} {\n${indented(content)}\n}\n`;

function brunoRequest({ name, method, path, query, headers, body, status }: Request, seq: number): string {
  const search = query.map(([key, value]) => `${key}=${value}`).join("&");
  const url = `{{baseUrl}}${path}${search === "" ? "" : `?${search}`}`;
  return [
    block("meta", `name: ${name}\ntype: http\nseq: ${seq}`),
    block(method.toLowerCase(), `url: ${url}\nbody: ${body === undefined ? "none" : "json"}\nauth: inherit`),
    ...(query.length === 0 ? [] : [block("params:query", query.map((one) => one.join(": ")).join("\n"))]),
    ...(headers.length === 0 ? [] : [block("headers", headers.map((one) => one.join(": ")).join("\n"))]),
    ...(body === undefined ? [] : [block("body:json", body)]),
    ...(status === 202
      ? [
          block(
            "script:post-response",
            'if (res.status === 202) bru.setVar("requestId", res.body.requestId);',
          ),
        ]
      : []),
    block("assert", `res.status: eq ${status}`),
  ].join("\n");
}

const BRUNO_COLLECTION = [
  block("auth", "mode: oauth2"),
  block(
    "auth:oauth2",
    [
      "grant_type: client_credentials",
      "access_token_url: {{baseUrl}}/api/oauth2/token",
      "client_id: {{clientId}}",
      "client_secret: {{clientSecret}}",
      "credentials_placement: body",
      "credentials_id: bellhop-{{clientId}}",
      "token_placement: header",
      "token_header_prefix: Bearer",
      "auto_fetch_token: true",
      "auto_refresh_token: false",
    ].join("\n"),
  ),
].join("\n");

const requests = requestsOf();
const asJson = (content: unknown) => `${JSON.stringify(content, null, 2)}\n`;
const files = new Map<string, string>([
  ["bellhop.postman_collection.json", asJson(postmanCollection(requests))],
  ["bellhop.postman_environment.json", asJson(POSTMAN_ENVIRONMENT)],
  ["bruno/bruno.json", asJson({ version: "1", name: "Bellhop", type: "collection" })],
  ["bruno/collection.bru", BRUNO_COLLECTION],
  [
    "bruno/environments/Sandbox.bru",
    `${block("vars", "baseUrl: http://127.0.0.1:8080\nclientId: ")}vars:secret [\n  clientSecret\n]\n`,
  ],
  ...requests.map((request, at): [string, string] => {
    const number = String(at + 1).padStart(2, "0");
    return [`bruno/${number} ${request.name.replaceAll(/[^\w -]/g, "")}.bru`, brunoRequest(request, at + 1)];
  }),
]);
const checking = process.argv.includes("--check");
const committed = async (name: string) => readFile(join(OUT, name), "utf8").catch(() => undefined);
const present = await readdir(OUT, { recursive: true, withFileTypes: true }).catch(() => []);
const others = present
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(OUT, join(parentPath, name)))
  .filter((name) => !files.has(name));
for (const name of others) if (!checking) await rm(join(OUT, name));
const changed: string[] = [...others];
for (const [name, content] of files) {
  if ((await committed(name)) === content) continue;
  changed.push(name);
  if (checking) continue;
  await mkdir(dirname(join(OUT, name)), { recursive: true });
  await writeFile(join(OUT, name), content);
}
for (const name of changed) console.log(`${checking ? "differs" : "wrote"}: docs/collections/${name}`);
if (checking && changed.length > 0) {
  console.error("Run npm run generate -- collections and review the difference.");
  process.exitCode = 1;
}
