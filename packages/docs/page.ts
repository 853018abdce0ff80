import {
  API_PATH,
  AUDIENCES,
  type Audience,
  type Page,
  relativeAddress,
  type Section,
  START_PATH,
} from "./contents.ts";
import { type Heading, escapeHtml as text } from "./markdown.ts";

export interface Site {
  readonly sections: readonly Section[];
  readonly apiVersion: string;
  /** Addresses of the built style, scripts and icon, which have a hash in their names, by the name without it. */
  readonly assets: Readonly<Record<string, string>>;
}

export interface PageContent {
  readonly title: string;
  readonly summary: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
}

const SUMMARY_CHARACTERS_MAX = 200;
const BELL = `<svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="7" r="2.5"/><path d="M4 22a12 12 0 0 1 24 0z"/><rect x="2" y="24" width="28" height="3.5" rx="1.75"/></svg>`;

/** A whole page. It can be read without scripts: they add the search, tabs and buttons to copy. */
export function renderPage(page: Page, site: Site, content: PageContent): string {
  const to = (path: string) => relativeAddress(page.path, path);
  const asset = (name: string) => to(site.assets[name] ?? name);
  const isReference = page.path === API_PATH;
  const audience = audienceOf(page, site.sections);
  const sections = site.sections.filter((section) => section.audience === audience);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${text(cut(content.summary))}">
<title>${text(content.title === "Bellhop" ? "Bellhop documentation" : `${content.title} · Bellhop`)}</title>
${isReference ? "" : `<link rel="alternate" type="text/markdown" href="${to(page.path === START_PATH ? "docs/index.md" : `${page.path}.md`)}">\n`}<link rel="icon" href="${asset("icon.svg")}" type="image/svg+xml">
${content.styles.map((name) => `<link rel="stylesheet" href="${asset(name)}">`).join("\n")}
${content.scripts.map((name) => `<script type="module" src="${asset(name)}"></script>`).join("\n")}
</head>
<body${isReference ? ` class="reference"` : ""}>
<a class="skip" href="#main">Skip to content</a>
<header>
<button class="menu" type="button" popovertarget="contents" aria-label="Contents">☰</button>
<a class="brand" href="${to(START_PATH)}">${BELL}Bellhop</a>
<nav class="audiences" aria-label="Documentation">${menusOf(page, audience)}</nav>
<div class="search" data-index="${asset("search.json")}" data-root="${to("docs").replace(/docs$/, "")}" data-audience="${audience}"></div>
<nav aria-label="API"><a href="${to(API_PATH)}"${isReference ? ` aria-current="page"` : ""}>API reference</a><a href="${to("openapi.json")}">OpenAPI ${text(site.apiVersion)}</a></nav>
</header>
<div class="page">
<nav id="contents" popover aria-label="Contents"><div class="menus">${menusOf(page, audience)}</div>${contentsOf(page, sections)}</nav>
${isReference ? `<div id="main" tabindex="-1">${content.html}</div>` : `<main id="main" tabindex="-1"><article>${content.html}</article>${neighboursOf(page, sections)}</main>`}
${outlineOf(content.headings)}
</div>
</body>
</html>
`;
}

function cut(summary: string): string {
  if (summary.length <= SUMMARY_CHARACTERS_MAX) return summary;
  return `${summary.slice(0, SUMMARY_CHARACTERS_MAX).replace(/\s+\S*$/, "")}…`;
}

export function audienceOf(page: Page, sections: readonly Section[]): Audience {
  return sections.find(({ pages }) => pages.includes(page))?.audience ?? "integrate";
}

function menusOf(page: Page, audience: Audience): string {
  return AUDIENCES.map((menu) => {
    const mark = menu.audience === audience ? ` aria-current="true"` : "";
    return `<a href="${relativeAddress(page.path, menu.path)}"${mark}>${menu.label}</a>`;
  }).join("");
}

function contentsOf(page: Page, sections: readonly Section[]): string {
  return sections
    .map(({ title, pages }) => {
      const links = pages.map(({ path, label }) => {
        const current = path === page.path ? ` aria-current="page"` : "";
        return `<li><a href="${relativeAddress(page.path, path)}"${current}>${text(label)}</a></li>`;
      });
      return `<p>${title}</p><ul>${links.join("")}</ul>`;
    })
    .join("\n");
}

/** The headings of the page. Names of errors may break at their dots. */
function outlineOf(headings: readonly Heading[]): string {
  const links = headings
    .filter(({ level }) => level === 2 || level === 3)
    .map(({ level, id, text: heading }) => {
      const label = text(heading).replace(/\.(?=\w)/g, ".<wbr>");
      return `<li class="level-${level}"><a href="#${text(id)}">${label}</a></li>`;
    });
  if (links.length < 2) return "";
  return `<aside aria-label="On this page"><p>On this page</p><ul>${links.join("")}</ul></aside>`;
}

function neighboursOf(page: Page, sections: readonly Section[]): string {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.findIndex(({ path }) => path === page.path);
  const link = (to: Page | undefined, word: string, rel: string) =>
    to === undefined
      ? ""
      : `<a rel="${rel}" href="${relativeAddress(page.path, to.path)}"><span>${word}</span>${text(to.label)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next page">${link(pages[at - 1], "Previous", "prev")}${link(pages[at + 1], "Next", "next")}</nav>`;
}
