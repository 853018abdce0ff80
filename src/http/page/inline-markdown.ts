import { Html, html } from "../../markup/html.ts";

/** What an address in a text becomes; undefined where a reader cannot follow it, and then its text stands alone. */
export type Resolve = (address: string) => string | undefined;

/** Only these may be followed: an address of another scheme is text, whoever wrote it. */
const FOLLOWED = /^(?:https?:|mailto:|[^:]*$)/i;

const LONG_NAME_CHARACTERS_MIN = 24;

const asItIs: Resolve = (address) => address;

// A code span (with as many backticks at its end), an escape, a picture or link, an address, strong, emphasis, a break: in
// that order, so that what stands in a code span is nothing else.
const TOKEN =
  /(?<code>(?<ticks>`+)(?<span>(?:[^`]|(?!\k<ticks>)`)*?[^`])\k<ticks>(?!`))|\\(?<escaped>[!-/:-@[-`{-~])|(?<picture>!)?\[(?<label>(?:`[^`]*`|\\.|[^[\]\\`]|\[[^[\]]*\])*)\]\((?<address>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)|<(?<bare>https?:\/\/[^\s<>]+)>|\*\*(?<strong>(?:`[^`]*`|[^*`]|\*(?!\*))+?)\*\*|\*(?<emphasis>(?:`[^`]*`|[^*\s`])(?:`[^`]*`|[^*`])*?)\*|(?<break><br>)/g;

/**
 * One paragraph's text as markup: code spans, **strong**, *emphasis*, links, pictures, `<br>` and escapes. Everything else,
 * HTML included, is text and escaped. `resolve` says what addresses become.
 */
export function renderInline(text: string, resolve: Resolve = asItIs): Html {
  let markup = "";
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    markup += html`${text.slice(end, match.index)}`.markup;
    markup += pieceOf(match.groups ?? {}, resolve).markup;
    end = match.index + match[0].length;
  }
  return new Html(markup + html`${text.slice(end)}`.markup);
}

function pieceOf(groups: Readonly<Record<string, string | undefined>>, resolve: Resolve): Html {
  const { code, span, escaped, picture, label, address, bare, strong, emphasis } = groups;
  if (code !== undefined) return html`<code>${breakable(spanOf(span ?? ""))}</code>`;
  if (escaped !== undefined) return html`${escaped}`;
  if (address !== undefined) {
    const words = label ?? "";
    return picture === undefined ? linkOf(words, address, resolve) : pictureOf(words, address, resolve);
  }
  if (bare !== undefined) return html`<a href="${bare}">${bare}</a>`;
  if (strong !== undefined) return html`<strong>${renderInline(strong, resolve)}</strong>`;
  if (emphasis !== undefined) return html`<em>${renderInline(emphasis, resolve)}</em>`;
  return html`<br>`;
}

/** A long name of parts may be cut between them: in a table it would leave no room for what is said of it. */
function breakable(span: string): Html {
  const { markup } = html`${span}`;
  return new Html(span.length < LONG_NAME_CHARACTERS_MIN ? markup : markup.replace(/\.(?=\w)/g, ".<wbr>"));
}

/** A space at either end lets a span begin with a backtick; a line's end in it is a space. */
function spanOf(span: string): string {
  const line = span.replaceAll("\n", " ");
  return /^ .*[^ ].* $/.test(line) ? line.slice(1, -1) : line;
}

function linkOf(label: string, address: string, resolve: Resolve): Html {
  const content = renderInline(label, resolve);
  const target = FOLLOWED.test(address) ? resolve(address) : undefined;
  if (target === undefined) return html`<span class="unlinked">${content}</span>`;
  return html`<a href="${target}">${content}</a>`;
}

function pictureOf(label: string, address: string, resolve: Resolve): Html {
  const target = /^[^:]*$/.test(address) ? resolve(address) : undefined;
  return target === undefined ? html`${label}` : html`<img src="${target}" alt="${label}" loading="lazy">`;
}

/** The text alone, without its marks: for titles, anchors and the search. */
export function plainText(text: string): string {
  return text
    .replace(TOKEN, (...found) => {
      const groups = found.at(-1) as Readonly<Record<string, string | undefined>>;
      const { code, span, escaped, label, bare, strong, emphasis } = groups;
      if (code !== undefined) return spanOf(span ?? "");
      const inner = label ?? strong ?? emphasis;
      return inner === undefined ? (escaped ?? bare ?? " ") : plainText(inner);
    })
    .replace(/\s+/g, " ")
    .trim();
}

/** A heading as the fragment of an address, as code hosts make it of the same file. */
export function headingAnchor(text: string): string {
  return plainText(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}
