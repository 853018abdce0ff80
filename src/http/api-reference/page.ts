import { buildOpenApiDocument } from "../openapi/document.ts";
import type { OpenApiDocument } from "../openapi/model.ts";
import type { DocumentOptions } from "../openapi/options.ts";
import { type Chapter, codeChapters } from "./code-lists.ts";
import { anchorOf, Html, html } from "./html.ts";
import { renderInline, renderMarkdown } from "./markdown.ts";
import { operationsOf, operationView } from "./operation-view.ts";
import { quickStart } from "./quick-start.ts";

/** Where the page's files are, relative to the page, so that it also works below a path of a proxy. */
export interface PageFiles {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
  readonly document: string;
}

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

const BELL = new Html(
  `<svg class="bell" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><circle cx="16" cy="7" r="2.5"/><path d="M4 22a12 12 0 0 1 24 0z"/><rect x="2" y="24" width="28" height="3.5" rx="1.75"/></svg>`,
);

/** Headings of a text, as links to them. */
function headingsOf(markdown: string): Link[] {
  return [...markdown.matchAll(/^## (.+)$/gm)].map(([, text = ""]) => ({ anchor: anchorOf(text), text }));
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

function navigation(parts: readonly Part[]): Html {
  const groups = parts.map(
    ({ title, links }) =>
      html`<li><a class="chapter" href="#${anchorOf(title)}">${title}</a>${
        links.length === 0
          ? ""
          : html`<ul>${links.map(({ anchor, text, method }) => html`<li><a href="#${anchor}">${method === undefined ? "" : html`<span class="method ${method}">${method.toUpperCase()}</span>`}<span>${text}</span></a></li>`)}</ul>`
      }</li>`,
  );
  return html`<nav id="contents" popover="auto" aria-label="Contents"><ul>${groups}</ul></nav>`;
}

function partsOf(document: OpenApiDocument, { addresses, sandbox }: PageOptions): Part[] {
  const [opening = "", ...rest] = document.info.description.split(/\n{2,}(?=## )/);
  const guide = rest.join("\n\n");
  return [
    {
      title: "First steps",
      body: html`${renderMarkdown(opening)}${quickStart(addresses, sandbox)}`,
      links: [],
    },
    { title: "Guide", body: renderMarkdown(guide), links: headingsOf(guide) },
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
  return html`${new Html("<!doctype html>")}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${summary}">
<title>${title} reference</title>
<link rel="icon" href="${files.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${files.style}">
<script src="${files.script}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the reference</a>
<header>
<a class="brand" href="#main">${BELL}<span>Bellhop</span></a>
<span class="version">API ${version}</span>
<a class="download" href="${files.document}">OpenAPI document</a>
<button class="menu" type="button" popovertarget="contents">Contents</button>
</header>
<div class="page">
${navigation(parts)}
<main id="main" tabindex="-1">
<h1>${title}</h1>
<p class="summary">${summary}</p>
<p class="base"><span>Base address</span> <code>${options.addresses.baseUrl}</code></p>
${parts.map((part) => html`<section class="part" aria-labelledby="${anchorOf(part.title)}"><h2 id="${anchorOf(part.title)}">${part.title}</h2>${part.body}</section>`)}
</main>
</div>
<footer><p>Made from the <a href="${files.document}">OpenAPI document</a> of this deployment.</p></footer>
</body>
</html>
`.markup;
}
