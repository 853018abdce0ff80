import { COMPONENT_NAMES } from "../../contract/component-schemas.ts";
import { RESOURCES } from "../../contract/resource.ts";
import { anchorOf, type Html, html } from "../../markup/html.ts";
import { ANYWHERE } from "../openapi/errors.ts";
import {
  type Answer,
  type MediaType,
  type Method,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolved,
} from "../openapi/model.ts";
import { codeBlock, highlightedJson } from "../page/code-block.ts";
import { renderInline } from "../page/inline-markdown.ts";
import { renderMarkdown } from "../page/markdown.ts";
import { curlOf } from "./curl.ts";
import { FIELDS_ANCHORS, fieldsOf, fieldsOfComponent, typeOf } from "./field-list.ts";

const EVERYWHERE: ReadonlySet<string> = new Set(Object.values(ANYWHERE).map(({ $ref }) => $ref));

/** An operation with where it is. */
export interface Placed {
  readonly path: string;
  readonly method: Method;
  readonly operation: Operation;
}

/** The operations of a chapter, in the order of the document; writing before reading. */
export function operationsOf(document: OpenApiDocument, tag: string): Placed[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    (Object.entries(item) as [Method, Operation][])
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

function parameterRow(
  document: OpenApiDocument,
  { name, in: place, required, description, schema }: Parameter,
): Html {
  return html`<li><p class="field"><code class="name">${name}</code> <span class="type">${place}, ${typeOf(document, schema)}${
    schema.default === undefined ? "" : html`, ${String(schema.default)} by default`
  }</span>${required === true ? html` <span class="required">required</span>` : ""}</p><p class="says">${renderInline(description)}</p></li>`;
}

function parametersView(
  document: OpenApiDocument,
  { operationId, parameters = [] }: Operation,
): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map((parameter) =>
    parameterRow(document, resolved(document, parameter) as Parameter),
  );
  return html`<h4 id="${operationId}-parameters">Parameters</h4><ul class="fields">${rows}</ul>`;
}

function bodyView(
  document: OpenApiDocument,
  { operationId, requestBody }: Operation,
  path: string,
): Html | undefined {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (requestBody === undefined || type === undefined || media === undefined) return undefined;
  const resource = RESOURCES.find((name) => path.endsWith(`/${name}`));
  const fields =
    resource === undefined
      ? fieldsOf(document, media.schema, "body")
      : html`<h5 id="${FIELDS_ANCHORS[COMPONENT_NAMES[resource]]}">Fields of each record</h5>${fieldsOfComponent(document, COMPONENT_NAMES[resource], "body")}`;
  return html`<h4 id="${operationId}-body">Body</h4><p><code>${type}</code> ${renderInline(requestBody.description)}</p>${fields}`;
}

function codesIn(media: MediaType | undefined): Html | undefined {
  const codes = Object.keys(media?.examples ?? {}).filter((name) => name.startsWith("bellhop."));
  if (codes.length === 0) return undefined;
  const links = codes.map((code) => html`<a href="#${anchorOf(code)}"><code>${code}</code></a>`);
  return html`<p class="codes">${links}</p>`;
}

function headersView(document: OpenApiDocument, headers: Answer["headers"]): Html {
  const rows = Object.entries(headers ?? {}).map(([name, header]) => {
    const { description } = resolved(document, header) as { description: string };
    return html`<li><p class="field"><code class="name">${name}</code></p><p class="says">${renderInline(description)}</p></li>`;
  });
  return html`<details><summary>Headers of this answer</summary><ul class="fields">${rows}</ul></details>`;
}

function answerRow(document: OpenApiDocument, status: string, answer: Answer): Html {
  const media = answer.content?.["application/json"];
  const good = status.startsWith("2");
  const fields = good && media !== undefined ? fieldsOf(document, media.schema, "answer") : undefined;
  return html`<li><p><span class="status s${status[0] as string}">${status.toLowerCase()}</span> ${renderInline(answer.description)}</p>${codesIn(media)}${
    good ? headersView(document, answer.headers) : ""
  }${fields === undefined ? "" : html`<details><summary>Fields of this answer</summary>${fields}</details>`}</li>`;
}

/** Answers of this operation, without those that every address can give, which stand once in the chapter on errors. */
function answersView(document: OpenApiDocument, { operationId, responses }: Operation): Html {
  const own = Object.entries(responses).filter(
    ([, answer]) => !("$ref" in answer && EVERYWHERE.has(answer.$ref)),
  );
  const rows = own.map(([status, answer]) =>
    answerRow(document, status, resolved(document, answer) as Answer),
  );
  return html`<h4 id="${operationId}-answers">Answers</h4><ul class="answers">${rows}</ul><p class="see">And, as at <a href="#any-address">any address</a>, ${Object.keys(ANYWHERE).join(", ")}.</p>`;
}

function exampleAnswer(document: OpenApiDocument, { responses }: Operation): Html | undefined {
  const [status, found] = Object.entries(responses).find(([name]) => name.startsWith("2")) ?? [];
  if (status === undefined || found === undefined) return undefined;
  const example = Object.values(
    (resolved(document, found) as Answer).content?.["application/json"]?.examples ?? {},
  )[0];
  if (example === undefined) return undefined;
  return codeBlock(`${status}, application/json`, highlightedJson(example.value));
}

function accessOf({ security }: Operation): Html {
  const scopes = security.flatMap((scheme) => scheme["oauth2"] ?? []);
  if (scopes.length > 0)
    return html`<p class="access">Token with the scope <code>${scopes.join(" ")}</code></p>`;
  return html`<p class="access">${security.length === 0 ? "Open to everybody" : "Client id and secret"}</p>`;
}

/** An operation: what it is, how to call it, what it takes and what it answers, with an example beside. */
export function operationView(
  document: OpenApiDocument,
  server: string,
  { path, method, operation }: Placed,
): Html {
  const { operationId, summary, description } = operation;
  return html`<section class="operation" aria-labelledby="${operationId}">
<h3 id="${operationId}">${summary}</h3>
<p class="address"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<div class="sides"><div class="text">
${accessOf(operation)}
${renderMarkdown(description, { levelsDown: 2 })}
${parametersView(document, operation)}
${bodyView(document, operation, path)}
${answersView(document, operation)}
</div><div class="examples">
${codeBlock("Request", curlOf(document, server, path, operation), true)}
${exampleAnswer(document, operation)}
</div></div>
</section>`;
}
