import { Html, html } from "../../markup/html.ts";
import { plainText } from "../page/inline-markdown.ts";
import { anchorsOf, renderBlocks } from "../page/markdown.ts";
import { type Block, readBlocks } from "../page/markdown-blocks.ts";
import { type PageFiles, renderPage } from "../page/shell.ts";
import { API_PATH, type Page, readText, relativeAddress, type Section, START_PATH } from "./contents.ts";
import { exampleTabs } from "./example-tabs.ts";
import { linksOf } from "./resolve-link.ts";

/** What all pages of the site have in common. */
export interface Site {
  readonly sections: readonly Section[];
  readonly pictures: ReadonlyMap<string, string>;
  readonly apiVersion: string;
}

/** Below this many headings a list of them beside the text would tell nothing. */
const HEADINGS_BESIDE_MIN = 2;
const SUMMARY_CHARACTERS_MAX = 200;

/** A page of Markdown as a whole page of HTML, with the contents of the site and of itself. */
export function renderTextPage(page: Page, site: Site, files: PageFiles): string {
  const blocks = readBlocks(readText(page.file));
  const resolve = linksOf(page, site.sections, site.pictures);
  const title = blocks.find((block) => block.kind === "heading");
  const heading = title?.kind === "heading" ? plainText(title.text) : page.label;
  const body = renderBlocks(blocks, { resolve, instead: (block) => exampleTabs(page, block) });
  return renderPage(
    {
      title: heading === "Bellhop" ? heading : `${heading} · Bellhop`,
      summary: summaryOf(blocks),
      apiVersion: site.apiVersion,
      contents: contentsOf(page, site.sections),
      main: html`<article>${body}</article>${neighboursOf(page, site.sections)}`,
      aside: besideOf(blocks),
      footer: html`<p>The text of this page is <code>${page.file}</code>.</p>`,
      kind: "text",
    },
    files,
  );
}

/** The first paragraph, cut after a word. */
function summaryOf(blocks: readonly Block[]): string {
  const first = blocks.find((block) => block.kind === "paragraph");
  const text = first?.kind === "paragraph" ? plainText(first.text) : "";
  return text.length <= SUMMARY_CHARACTERS_MAX
    ? text
    : `${text.slice(0, SUMMARY_CHARACTERS_MAX).replace(/\s+\S*$/, "")}…`;
}

/** The sections with their pages. Pages of a folder (decisions) are listed on the folder's own pages only: they are many. */
function contentsOf(page: Page, sections: readonly Section[]): Html {
  const groups = sections.map(({ title, pages }) => {
    const [first] = pages;
    const isFolder = title === "Decisions";
    const shown = isFolder && !page.path.startsWith(first?.path ?? "") ? pages.slice(0, 1) : pages;
    const links = shown.map(({ path, label }) => {
      // From the start, an address of the API reference leads on there: see site.js.
      const api = path === START_PATH ? html` data-api="${relativeAddress(page.path, API_PATH)}"` : "";
      const current = path === page.path ? html` aria-current="page"${api}` : "";
      return html`<li><a href="${relativeAddress(page.path, path)}"${current}>${label}</a></li>`;
    });
    return html`<li><span class="chapter">${title}</span><ul>${links}</ul></li>`;
  });
  return html`<ul>${groups}</ul>`;
}

/** Beside the text there is little room: names of errors are cut at their dots rather than anywhere. */
function cutAtDots(text: string): Html {
  return new Html(html`${text}`.markup.replace(/\.(?=\w)/g, ".<wbr>"));
}

/** The headings of the page, beside it where there is room. */
function besideOf(blocks: readonly Block[]): Html {
  const anchors = anchorsOf(blocks);
  const links = blocks.flatMap((block, at) =>
    block.kind === "heading" && (block.level === 2 || block.level === 3)
      ? [
          html`<li class="level-${block.level}"><a href="#${anchors[at]}">${cutAtDots(plainText(block.text))}</a></li>`,
        ]
      : [],
  );
  if (links.length < HEADINGS_BESIDE_MIN) return html``;
  return html`<aside class="beside" aria-label="On this page"><p>On this page</p><ul>${links}</ul></aside>`;
}

/** The pages before and behind this one, in the order of the contents. */
function neighboursOf(page: Page, sections: readonly Section[]): Html {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.findIndex(({ path }) => path === page.path);
  const link = (to: (typeof pages)[number] | undefined, words: string, name: string) =>
    to === undefined
      ? html``
      : html`<a class="${name}" href="${relativeAddress(page.path, to.path)}"><span>${words}</span> ${to.label}</a>`;
  return html`<nav class="neighbours" aria-label="Pages before and behind">${link(pages[at - 1], "Before", "before")}${link(pages[at + 1], "Next", "next")}</nav>`;
}
