import { anchorOf, Html, html } from "./html.ts";

/**
 * The part of CommonMark that the document's descriptions use, and no more: paragraphs, `## ` headings, lists of one
 * level, **strong**, *emphasis* and `code`. Everything is escaped.
 */
export function renderMarkdown(text: string, headingLevel: 2 | 3 | 4 = 3): Html {
  const blocks = text.split(/\n{2,}/).filter((block) => block.trim() !== "");
  return new Html(blocks.map((block) => renderBlock(block, headingLevel).markup).join("\n"));
}

function renderBlock(block: string, level: number): Html {
  if (block.startsWith("## ")) {
    const title = block.slice(3);
    return new Html(html`<h${level} id="${anchorOf(title)}">${title}</h${level}>`.markup);
  }
  if (block.startsWith("- ")) {
    const items = block.split(/\n- /).map((item) => html`<li>${renderInline(item.replace(/^- /, ""))}</li>`);
    return html`<ul>${items}</ul>`;
  }
  return html`<p>${renderInline(block)}</p>`;
}

/** One line of text with **strong**, *emphasis* and `code` in it. */
export function renderInline(text: string): Html {
  const pieces = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/);
  return new Html(pieces.map((piece) => renderPiece(piece).markup).join(""));
}

function renderPiece(piece: string): Html {
  if (/^`[^`]+`$/.test(piece)) return html`<code>${piece.slice(1, -1)}</code>`;
  if (/^\*\*[^*]+\*\*$/.test(piece)) return html`<strong>${piece.slice(2, -2)}</strong>`;
  if (/^\*[^*]+\*$/.test(piece)) return html`<em>${piece.slice(1, -1)}</em>`;
  return html`${piece}`;
}
