import { Html, html } from "../../markup/html.ts";

// A name or text, a number, a word: in that order, so that nothing within quotes is taken for anything else.
const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?)|\b(true|false|null)\b/g;

/** A value as JSON, indented, with its names, texts, numbers and words told apart. */
export function highlightedJson(value: unknown): Html {
  return colouredJson(JSON.stringify(value, null, 2));
}

/** JSON as it is written, also with gaps (`…`) in it, with its names, texts, numbers and words told apart. */
export function colouredJson(text: string): Html {
  let markup = "";
  let end = 0;
  for (const match of text.matchAll(JSON_TOKEN)) {
    const [whole, quoted, colon, number] = match;
    markup += html`${text.slice(end, match.index)}`.markup;
    if (quoted === undefined)
      markup += html`<span class="${number === undefined ? "w" : "n"}">${whole}</span>`.markup;
    else markup += html`<span class="${colon === undefined ? "s" : "k"}">${quoted}</span>${colon}`.markup;
    end = match.index + whole.length;
  }
  return new Html(markup + html`${text.slice(end)}`.markup);
}

/** A labelled block of code. It takes the focus, so that a keyboard can scroll it; a script adds the button to copy. */
export function codeBlock(label: string, code: Html | string, copyable = false): Html {
  return html`<figure class="code"${copyable ? new Html(' data-copy=""') : ""}><figcaption>${label}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`;
}
