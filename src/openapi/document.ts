import { BACKFILL_ENDPOINTS } from "../backfill/backfill-routes.ts";
import { BACKFILL_SCHEMAS } from "../backfill/openapi.ts";
import { CERTIFICATION_ENDPOINTS } from "../certification/certification-route.ts";
import { AUTH_PATHS } from "../identity/metadata.ts";
import { AUTH_OPERATIONS, AUTH_SCHEMAS } from "../identity/openapi/auth-operations.ts";
import { TOKEN_SCOPES } from "../identity/scopes.ts";
import { ACCEPTED_ANSWER, dataOperations, dataSchemas } from "../ingest/openapi/data-operations.ts";
import { recordSchemas } from "../ingest/openapi/record-schemas.ts";
import { INSIGHT_SCHEMAS, insightOperations } from "../insight/openapi/insight-document.ts";
import { PORTFOLIO_ENDPOINTS } from "../insight/portfolio-report-route.ts";

import { ERROR_ANSWERS, ERROR_SCHEMAS } from "../platform/http/openapi/errors.ts";
import { HEADER_PARAMETERS, HEADERS } from "../platform/http/openapi/headers.ts";
import type { OpenApiDocument, PathItem, SecurityScheme, Server } from "../platform/http/openapi/model.ts";
import type { DocumentOptions } from "../platform/http/openapi/options.ts";
import { componentsIn } from "../platform/http/openapi/schema.ts";
import { CHANGE_ENDPOINTS } from "../query/changes/change-routes.ts";
import { operationsOf } from "../query/endpoint.ts";
import { CHANGE_SCHEMAS } from "../query/openapi/change-schemas.ts";
import { READ_SCHEMAS } from "../query/openapi/read-schemas.ts";
import { READ_ENDPOINTS } from "../query/read-routes.ts";
import { WEBHOOK_SCHEMAS } from "../webhooks/openapi.ts";
import { WEBHOOK_ENDPOINTS } from "../webhooks/webhook-routes.ts";
import { introduction, TAGS } from "./guide.ts";
import { openAnswers } from "./open-answers.ts";
import { SERVICE_OPERATIONS, SERVICE_SCHEMAS } from "./service-operations.ts";

/** The contract's version, independent of the service's. Additions increase the second number. */
const CONTRACT_VERSION = "1.0.0";

const SCOPE_MEANINGS: Readonly<Record<(typeof TOKEN_SCOPES)[number], string>> = {
  "inventories:write": "Push room inventory.",
  "reservations:write": "Push reservations.",
  "groups:write": "Push group block masters.",
  read: "Read requests, records, histories and changes.",
  "insight:read": "Ask what is on the books, pickup, pace and how feeds do.",
  webhooks: "Register webhook endpoints.",
};

function securitySchemes(authUrl: string): Record<string, SecurityScheme> {
  return {
    oauth2: {
      type: "oauth2",
      description:
        "Client credentials (RFC 6749 section 4.4). Access tokens are JWTs (RFC 9068), signed with ES256 and verified as RFC8725 requires.",
      flows: {
        clientCredentials: {
          tokenUrl: authUrl + AUTH_PATHS.token,
          scopes: Object.fromEntries(TOKEN_SCOPES.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
        },
      },
    },
    clientBasic: {
      type: "http",
      scheme: "basic",
      description:
        "The client id and secret (RFC 6749 section 2.3.1), for the OAuth endpoints only. Send them here or in the form, not in both.",
    },
    metricsToken: {
      type: "http",
      scheme: "bearer",
      bearerFormat: "opaque, RFC8725 does not apply",
      description: "The operator's token for `/metrics`, if one is set. It is not an access token.",
    },
  };
}

function serversOf(url: string): readonly Server[] {
  return [
    {
      url,
      description: "Bellhop (production, staging or sandbox)",
      "x-internal": false,
    },
  ];
}

/** Adds the server to operations that differ from the document's. */
function servedBy(
  servers: readonly Server[],
  paths: Readonly<Record<string, PathItem>>,
): Record<string, PathItem> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, operation]) => [method, { ...operation, servers }]),
      ),
    ]),
  );
}

/**
 * The OpenAPI 3.1 document of the public API. Record schemas are those used for validation; errors come from the registry. Without
 * addresses its URLs are relative, as in `docs/openapi.json`.
 */
export function buildOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  return openAnswers(describeRelease(options));
}

/** The document as this release answers: enumerations have no other values, and objects no other fields. */
export function describeRelease(options: DocumentOptions): OpenApiDocument {
  const { baseUrl, authUrl } = options.addresses ?? { baseUrl: "", authUrl: "" };
  const authOperations =
    baseUrl === authUrl ? AUTH_OPERATIONS : servedBy(serversOf(authUrl), AUTH_OPERATIONS);
  return {
    openapi: "3.1.0",
    info: {
      title: "Bellhop API",
      version: CONTRACT_VERSION,
      summary:
        "Push room inventory, reservations and group blocks of hotels; read back each record's outcome.",
      description: introduction(options),
      contact: { name: "The operator of this deployment" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: serversOf(baseUrl === "" ? "/" : baseUrl),
    tags: TAGS,
    paths: mergePaths(
      authOperations,
      dataOperations(options),
      operationsOf([...READ_ENDPOINTS, ...CHANGE_ENDPOINTS, ...BACKFILL_ENDPOINTS]),
      insightOperations(),
      operationsOf(PORTFOLIO_ENDPOINTS),
      operationsOf([...WEBHOOK_ENDPOINTS, ...CERTIFICATION_ENDPOINTS]),
      SERVICE_OPERATIONS,
    ),
    components: {
      securitySchemes: securitySchemes(authUrl),
      parameters: HEADER_PARAMETERS,
      headers: HEADERS,
      responses: { Accepted: ACCEPTED_ANSWER, ...ERROR_ANSWERS },
      schemas: {
        ...componentsIn([CLIENT_ENDPOINTS, INSIGHT_SCHEMAS], {
          ...recordSchemas(),
          ...dataSchemas(options),
          ...READ_SCHEMAS,
          ...CHANGE_SCHEMAS,
          ...BACKFILL_SCHEMAS,
          ...INSIGHT_SCHEMAS,
          ...WEBHOOK_SCHEMAS,
        }),
        ...ERROR_SCHEMAS,
        ...AUTH_SCHEMAS,
        ...SERVICE_SCHEMAS,
      },
    },
  };
}

/** Their schemas are in the document by themselves. */
const CLIENT_ENDPOINTS = [
  READ_ENDPOINTS,
  CHANGE_ENDPOINTS,
  BACKFILL_ENDPOINTS,
  PORTFOLIO_ENDPOINTS,
  WEBHOOK_ENDPOINTS,
  CERTIFICATION_ENDPOINTS,
];

function mergePaths(...parts: readonly Readonly<Record<string, PathItem>>[]): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const part of parts) {
    for (const [path, item] of Object.entries(part)) paths[path] = { ...paths[path], ...item };
  }
  return paths;
}
