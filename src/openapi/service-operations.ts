import { jsonAnswer, openOperation, refusals } from "../platform/http/openapi/errors.ts";
import { headersOf } from "../platform/http/openapi/headers.ts";
import { type Answer, type PathItem, type Schema, schemaOf } from "../platform/http/openapi/model.ts";
import { choice, constant, objectOf, text } from "../platform/http/openapi/schema.ts";

const headers = headersOf("Cache-Control");
const ROLES = ["accept", "apply", "read"];
const UNREADY = "The accept log has no database connection.";

/** Headers of responses that change only with the deployment: cacheable for a while, then revalidated by ETag. */
const keptHeaders: NonNullable<Answer["headers"]> = {
  ...headersOf(),
  "Cache-Control": {
    description: "The document may be cached for five minutes.",
    required: true,
    schema: { type: "string", const: "public, max-age=300", examples: ["public, max-age=300"] },
  },
  ETag: {
    description: "The version, for `If-None-Match`.",
    required: true,
    schema: { type: "string", maxLength: 64, pattern: '^"[^"]+"$', examples: ['"V8dxVFF30yUQ4f85-K1KGW"'] },
  },
};

const notModified: Answer = {
  description: "The document has not changed since the version in `If-None-Match`. The body is empty.",
  headers: keptHeaders,
};

function textAnswer(
  description: string,
  type: string,
  example: string,
  headers: NonNullable<Answer["headers"]> = headersOf(),
): Answer {
  return {
    description,
    headers,
    content: {
      [type]: {
        schema: { type: "string", maxLength: 4_194_304, pattern: "^[^\\u0000]*$" },
        examples: { text: { value: example } },
      },
    },
  };
}

export const SERVICE_OPERATIONS: Readonly<Record<string, PathItem>> = {
  "/healthz": openOperation(
    "Service",
    {
      operationId: "getHealth",
      summary: "Liveness",
      description:
        "For a supervisor: restart the process if there is no response. It does not check the database.",
    },
    {
      200: jsonAnswer("The process is alive.", "Health", { alive: { status: "alive" } }, headers),
    },
  ),
  "/readyz": openOperation(
    "Service",
    {
      operationId: "getReadiness",
      summary: "Readiness",
      description:
        "For a load balancer. A 503 means that the node would refuse requests now or is stopping. A node that ingests is ready when it can accept batches.",
    },
    {
      200: jsonAnswer(
        "The node is ready.",
        "Readiness",
        { ready: { status: "ready", roles: ROLES } },
        headers,
      ),
      503: jsonAnswer(
        "The node is not ready.",
        "Readiness",
        { unready: { status: "unready", roles: ROLES, reason: UNREADY } },
        headers,
      ),
    },
  ),
  "/openapi.json": openOperation(
    "Service",
    {
      operationId: "getOpenApi",
      summary: "Get this document",
      description:
        "The OpenAPI 3.1 document of this deployment, with its own addresses and limits. With `profile=codegen` it is OpenAPI 3.0 without what code generators cannot express.",
      parameters: [
        {
          name: "profile",
          in: "query",
          description: "`codegen`: the document for code generators.",
          schema: { type: "string", enum: ["codegen"], examples: ["codegen"] },
        },
      ],
    },
    {
      200: {
        description: "The document.",
        headers: keptHeaders,
        content: { "application/json": { schema: schemaOf("OpenApi") } },
      },
      304: notModified,
      ...refusals({ 400: "InvalidProfile" }),
    },
  ),
  "/docs": openOperation(
    "Service",
    {
      operationId: "getDocs",
      summary: "Read the documentation",
      description:
        "Guides, reference and operations as HTML pages. `/docs/api` is this document, with first steps to paste into a shell.",
    },
    {
      200: textAnswer("The page.", "text/html", "<!doctype html>", keptHeaders),
      304: notModified,
    },
  ),
  "/metrics": openOperation(
    "Service",
    {
      operationId: "getMetrics",
      summary: "Scrape the metrics",
      description:
        "For Prometheus, in its text format. If the operator has set a token, the request needs it.",
    },
    {
      200: textAnswer("The metrics.", "text/plain", "# TYPE bellhop_http_requests_total counter\n"),
      ...refusals({ 401: "NoMetricsToken" }),
    },
    [{}, { metricsToken: [] }],
  ),
};

/** Schemas of operations on the service itself. */
export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Health: objectOf("The process answers.", {
    status: constant("Always `alive`.", "alive"),
  }),
  Readiness: objectOf(
    "Whether the node is ready.",
    {
      status: choice("Whether the node can perform its roles.", ["ready", "unready"], "ready"),
      roles: {
        type: "array",
        maxItems: 3,
        items: { type: "string", enum: ROLES },
        description: "The roles of the node.",
        examples: [ROLES],
      },
      reason: text("Why the node is not ready.", 1024, UNREADY),
    },
    "reason",
  ),
  OpenApi: objectOf("An OpenAPI document.", {
    openapi: choice("The version of OpenAPI.", ["3.1.0", "3.0.3"], "3.1.0"),
    info: { type: "object", description: "Title, version and description of the API." },
    paths: { type: "object", description: "The operations by path." },
  }),
};
