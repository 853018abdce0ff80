import { Html, html } from "../../markup/html.ts";
import { codeBlock } from "./code-block.ts";
import { highlightedCode } from "./highlight.ts";
import { headingAnchor, type Resolve, renderInline } from "./inline-markdown.ts";
import { type Block, readBlocks } from "./markdown-blocks.ts";

/** How a text becomes a part of a page. */
export interface RenderOptions {
  /** What addresses become: see `Resolve`. */
  readonly resolve?: Resolve;
  /** How many levels every heading goes down, 0 unless given: a text within a page's chapter begins lower. */
  readonly levelsDown?: number;
  /** A block that is rendered otherwise; undefined leaves it to the renderer. */
  readonly instead?: (block: Block) => Html | undefined;
}

const NAMED_LANGUAGES: Readonly<Record<string, string>> = {
  sh: "Shell",
  json: "JSON",
  sql: "SQL",
  ts: "TypeScript",
  js: "JavaScript",
  py: "Python",
  http: "HTTP",
};

/** A Markdown text as markup. Nothing in it can become markup of its own: see `renderInline`. */
export function renderMarkdown(markdown: string, options: RenderOptions = {}): Html {
  return renderBlocks(readBlocks(markdown), options);
}

/** Blocks as markup; a heading whose words stood in one before is told apart by a number, as code hosts do. */
export function renderBlocks(blocks: readonly Block[], options: RenderOptions = {}): Html {
  const anchors = anchorsOf(blocks);
  return new Html(blocks.map((block, at) => renderBlock(block, options, anchors[at]).markup).join("\n"));
}

/** The anchor of each block that is a heading, undefined of the others. */
export function anchorsOf(blocks: readonly Block[]): (string | undefined)[] {
  const seen = new Map<string, number>();
  return blocks.map((block) => {
    if (block.kind !== "heading") return undefined;
    const anchor = headingAnchor(block.text);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

/** A block of code under the name of its language; what a shell or a program takes can be copied. */
function renderCode(language: string, text: string): Html {
  const label = NAMED_LANGUAGES[language] ?? (language === "" ? "Text" : language);
  return codeBlock(label, highlightedCode(language, text), language !== "" && language !== "json");
}

function renderBlock(block: Block, options: RenderOptions, anchor: string | undefined): Html {
  const other = options.instead?.(block);
  if (other !== undefined) return other;
  switch (block.kind) {
    case "heading": {
      const level = Math.min(6, block.level + (options.levelsDown ?? 0));
      return html`<h${level} id="${anchor}">${renderInline(block.text, options.resolve)}</h${level}>`;
    }
    case "paragraph":
      return html`<p>${renderInline(block.text, options.resolve)}</p>`;
    case "code":
      return renderCode(block.language, block.text);
    case "quote":
      return html`<blockquote>${renderBlocks(block.blocks, options)}</blockquote>`;
    case "table":
      return renderTable(block, options);
    case "list":
      return renderList(block, options);
  }
}

function renderList(list: Block & { kind: "list" }, options: RenderOptions): Html {
  const items = list.items.map((blocks) => {
    const parts = blocks.map((block) =>
      list.tight && block.kind === "paragraph"
        ? renderInline(block.text, options.resolve)
        : renderBlock(block, options, undefined),
    );
    return html`<li>${parts}</li>`;
  });
  if (list.start === undefined) return html`<ul>${items}</ul>`;
  return list.start === 1 ? html`<ol>${items}</ol>` : html`<ol start="${list.start}">${items}</ol>`;
}

/** Wide tables scroll within their own frame, which takes the focus so that a keyboard can scroll it. */
function renderTable({ head, rows }: Block & { kind: "table" }, options: RenderOptions): Html {
  const cell = (text: string) => renderInline(text, options.resolve);
  const heads = head.map((text) => html`<th scope="col">${cell(text)}</th>`);
  const lines = rows.map((row) => html`<tr>${row.map((text) => html`<td>${cell(text)}</td>`)}</tr>`);
  const isNamed = head.some((text) => text !== "");
  const kind = head.length > 2 ? "wide many" : "wide";
  return html`<div class="${kind}" tabindex="0" role="region" aria-label="Table"><table>${isNamed ? html`<thead><tr>${heads}</tr></thead>` : ""}<tbody>${lines}</tbody></table></div>`;
}
