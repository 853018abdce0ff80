/** Markup that needs no more escaping. Only `html` and `joined` make it, so a text cannot become markup by mistake. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }

  toString(): string {
    return this.markup;
  }
}

type Content = Html | string | number | undefined | false | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as it may stand between tags and in quoted attributes. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

function markupOf(content: Content): string {
  if (content === undefined || content === false) return "";
  if (content instanceof Html) return content.markup;
  if (typeof content === "object") return content.map((part) => part.markup).join("");
  return escaped(String(content));
}

/** Markup with values in it: texts are escaped, markup is not, nothing and false leave nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(parts.reduce((before, part, at) => before + markupOf(values[at - 1]) + part));
}

/** Pieces of markup with something between them. */
export function joined(pieces: readonly Html[], between: string): Html {
  return new Html(pieces.map((piece) => piece.markup).join(escaped(between)));
}
