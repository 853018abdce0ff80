import { anchorOf, type Html, html } from "../../markup/html.ts";
import { buildOpenApiDocument } from "../openapi/document.ts";
import type { OpenApiDocument } from "../openapi/model.ts";
import type { DocumentOptions } from "../openapi/options.ts";
import { headingAnchor, renderInline } from "../page/inline-markdown.ts";
import { renderMarkdown } from "../page/markdown.ts";
import { type PageFiles, renderPage } from "../page/shell.ts";
import { type Chapter, codeChapters } from "./code-lists.ts";
import { operationsOf, operationView } from "./operation-view.ts";
import { quickStart } from "./quick-start.ts";

/** What a deployment says about itself on the page. */
interface PageOptions extends DocumentOptions {
  readonly addresses: NonNullable<DocumentOptions["addresses"]>;
  /** Whether there is a client for trying the service out, whose secret the start has printed. */
  readonly sandbox: boolean;
}

interface Link {
  readonly anchor: string;
  readonly text: string;
  readonly method?: string;
}

interface Part extends Chapter {
  readonly links: readonly Link[];
}

/** The document's own headings stand below the chapters of the page. */
const LEVELS = { levelsDown: 1 };

/** Headings of a text, as links to them. */
function headingsOf(markdown: string): Link[] {
  return [...markdown.matchAll(/^## (.+)$/gm)].map(([, text = ""]) => ({
    anchor: headingAnchor(text),
    text,
  }));
}

function chapterOf(document: OpenApiDocument, server: string, name: string, description: string): Part {
  const operations = operationsOf(document, name);
  return {
    title: name,
    body: html`<p class="lead">${renderInline(description)}</p>${operations.map((placed) => operationView(document, placed.operation.servers?.[0]?.url ?? server, placed))}`,
    links: operations.map(({ method, operation: { operationId, summary } }) => ({
      anchor: operationId,
      text: summary,
      method,
    })),
  };
}

function navigation(parts: readonly Part[], start: string): Html {
  const groups = parts.map(
    ({ title, links }) =>
      html`<li><a class="chapter" href="#${anchorOf(title)}">${title}</a>${
        links.length === 0
          ? ""
          : html`<ul>${links.map(({ anchor, text, method }) => html`<li><a href="#${anchor}">${method === undefined ? "" : html`<span class="method ${method}">${method.toUpperCase()}</span>`}<span>${text}</span></a></li>`)}</ul>`
      }</li>`,
  );
  return html`<p class="back"><a href="${start}">← All documentation</a></p><ul>${groups}</ul>`;
}

function partsOf(document: OpenApiDocument, { addresses, sandbox }: PageOptions): Part[] {
  const [opening = "", ...rest] = document.info.description.split(/\n{2,}(?=## )/);
  const guide = rest.join("\n\n");
  return [
    {
      title: "First steps",
      body: html`${renderMarkdown(opening, LEVELS)}${quickStart(addresses, sandbox)}`,
      links: [],
    },
    { title: "Guide", body: renderMarkdown(guide, LEVELS), links: headingsOf(guide) },
    ...document.tags.map(({ name, description }) =>
      chapterOf(document, addresses.baseUrl, name, description),
    ),
    ...codeChapters(document).map((chapter) => ({ ...chapter, links: [] })),
  ];
}

/**
 * The API reference as one page of HTML: everything in it comes from the OpenAPI document and the registries of codes.
 * It needs no script (one adds buttons to copy and marks where you are) and nothing from outside.
 */
export function renderReference(options: PageOptions, files: PageFiles): string {
  const document = buildOpenApiDocument(options);
  const parts = partsOf(document, options);
  const { title, summary, version } = document.info;
  const main = html`<h1>${title}</h1>
<p class="summary">${summary}</p>
<p class="base"><span>Base address</span> <code>${options.addresses.baseUrl}</code></p>
${parts.map((part) => html`<section class="part" aria-labelledby="${anchorOf(part.title)}"><h2 id="${anchorOf(part.title)}">${part.title}</h2>${part.body}</section>`)}`;
  return renderPage(
    {
      title: `${title} reference`,
      summary,
      apiVersion: version,
      contents: navigation(parts, files.start),
      main,
      footer: html`<p>Made from the <a href="${files.document}">OpenAPI document</a> of this deployment.</p>`,
      kind: "reference",
    },
    files,
  );
}
