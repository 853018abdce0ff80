import { Html, html } from "../../markup/html.ts";
import { colouredJson } from "./code-block.ts";

// Of each language: comments, texts, words of the language. What is none of them stays as it is. Within a heredoc of a shell
// the texts of JSON are texts too, which is right.
const COMMENTS: Readonly<Record<string, string>> = {
  sh: "(?<=^|\\s)#[^\\n]*",
  py: "#[^\\n]*",
  ts: "\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/",
  js: "\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/",
  sql: "--[^\\n]*",
};
const TEXTS: Readonly<Record<string, string>> = {
  sh: `"(?:[^"\\\\]|\\\\.)*"|'[^']*'`,
  py: `"""[\\s\\S]*?"""|f?"(?:[^"\\\\\\n]|\\\\.)*"|f?'(?:[^'\\\\\\n]|\\\\.)*'`,
  ts: '"(?:[^"\\\\\\n]|\\\\.)*"|`(?:[^`\\\\]|\\\\.)*`',
  js: '"(?:[^"\\\\\\n]|\\\\.)*"|`(?:[^`\\\\]|\\\\.)*`',
  sql: "'[^']*'",
};
const WORDS: Readonly<Record<string, string>> = {
  sh: "if|then|else|fi|for|in|do|done|while|until|case|esac|export|curl|echo|printf|sed|sleep|date",
  py: "import|from|def|return|for|in|if|elif|else|while|with|as|not|and|or|None|True|False|try|except|raise|class|lambda|yield|print",
  ts: "import|from|export|const|let|function|return|for|of|if|else|while|await|async|new|try|catch|throw|type|interface|as|true|false|null|undefined",
  js: "import|from|export|const|let|function|return|for|of|if|else|while|await|async|new|try|catch|throw|true|false|null|undefined",
  sql: "select|from|where|and|or|not|group|order|by|join|left|on|as|with|sum|coalesce|count|create|grant|to|in|is|null|having|limit",
};

const patterns = new Map(
  Object.keys(COMMENTS).map((language) => [
    language,
    new RegExp(
      `(?<comment>${COMMENTS[language]})|(?<text>${TEXTS[language]})|(?<word>(?<![\\w.$/-])(?:${WORDS[language]})(?![\\w-]))|(?<number>(?<![\\w./:-])\\d[\\d_.]*(?![\\w:-]))`,
      "gm",
    ),
  ]),
);
const CLASSES = { comment: "c", text: "s", word: "w", number: "n" } as const;

/**
 * A program with its comments, texts, words and numbers told apart, by the ending of its file's name (`sh`, `ts`, `py`,
 * `sql`, `json`); of any other language as it is. Nothing but colours hangs on it.
 */
export function highlightedCode(language: string, code: string): Html {
  if (language === "json") return colouredJson(code);
  const pattern = patterns.get(language);
  if (pattern === undefined) return html`${code}`;
  let markup = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [name, token = ""] =
      Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? [];
    markup += html`${code.slice(end, match.index)}`.markup;
    markup += html`<span class="${CLASSES[name as keyof typeof CLASSES]}">${token}</span>`.markup;
    end = match.index + token.length;
  }
  return new Html(markup + html`${code.slice(end)}`.markup);
}
