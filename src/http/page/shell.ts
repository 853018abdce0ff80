import { Html, html } from "../../markup/html.ts";

/** The files that pages load and the places that every page links to, relative to the page. */
export interface PageFiles {
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly icon: string;
  readonly start: string;
  readonly api: string;
  readonly document: string;
  /** What the search asks; pages of results are relative to `root`. */
  readonly search: string;
  readonly root: string;
}

/** What a page consists of. */
export interface PageParts {
  readonly title: string;
  readonly summary: string;
  readonly apiVersion: string;
  /** What can be gone to from here: of the site, or of a long page itself. */
  readonly contents: Html;
  readonly main: Html;
  /** Beside the text where there is room: what this page has. */
  readonly aside?: Html;
  readonly footer: Html;
  /** A class of the page's kind, for its layout. */
  readonly kind: "reference" | "text";
}

const BELL = new Html(
  `<svg class="bell" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><circle cx="16" cy="7" r="2.5"/><path d="M4 22a12 12 0 0 1 24 0z"/><rect x="2" y="24" width="28" height="3.5" rx="1.75"/></svg>`,
);

/**
 * A whole page of the documentation. It needs no script (they add the search, buttons to copy and tabs, and mark where you
 * are) and nothing from outside.
 */
export function renderPage(parts: PageParts, files: PageFiles): string {
  const { title, summary, apiVersion, contents, main, aside, footer, kind } = parts;
  return html`${new Html("<!doctype html>")}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${summary}">
<title>${title}</title>
<link rel="icon" href="${files.icon}" type="image/svg+xml">
${files.styles.map((href) => html`<link rel="stylesheet" href="${href}">`)}
${files.scripts.map((src) => html`<script type="module" src="${src}"></script>`)}
</head>
<body class="${kind}">
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="brand" href="${files.start}" aria-label="Bellhop documentation">${BELL}<span>Bellhop</span></a>
<span class="version">API ${apiVersion}</span>
<div class="search" data-index="${files.search}" data-root="${files.root}" hidden></div>
<a class="download" href="${files.api}">API reference</a>
<a class="download" href="${files.document}">OpenAPI</a>
<button class="menu" type="button" popovertarget="contents">Contents</button>
</header>
<div class="page">
<nav id="contents" popover="auto" aria-label="Contents">${contents}</nav>
<main id="main" tabindex="-1">
${main}
</main>
${aside}
</div>
<footer>${footer}</footer>
</body>
</html>
`.markup;
}
