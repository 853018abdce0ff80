import { posix } from "node:path";
import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import nginx from "highlight.js/lib/languages/nginx";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import MarkdownIt, { type Token } from "markdown-it";
import { readText } from "./contents.ts";

const LANGUAGES = {
  sh: ["Shell", bash],
  js: ["JavaScript", javascript],
  json: ["JSON", json],
  nginx: ["nginx", nginx],
  py: ["Python", python],
  sql: ["SQL", sql],
  ts: ["TypeScript", typescript],
} as const;
for (const [name, [, grammar]] of Object.entries(LANGUAGES)) highlighter.registerLanguage(name, grammar);

const TABS: Readonly<Record<string, string>> = { sh: "curl", mjs: "JavaScript", py: "Python" };
const EXAMPLE = /^examples\/guides\/[\w-]+\.(sh|mjs|py)$/;

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** The text between one heading and the next, for the search. */
export interface Part {
  readonly heading: Heading;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly parts: readonly Part[];
  readonly summary: string;
}

export interface Source {
  /** The Markdown file, from the root of the repository. */
  readonly file: string;
  /** The address of a file of the repository relative to this page; undefined when the site does not serve it. */
  readonly addressOf: (file: string) => string | undefined;
}

const markdown = new MarkdownIt();
export const { escapeHtml } = markdown.utils;

export function renderMarkdown(text: string, source: Source): Rendered {
  const tokens = markdown.parse(text.replace(/<!--[\s\S]*?-->/g, ""), {});
  for (const at of tokens.keys()) showExamples(tokens.slice(at, at + 3), source);
  for (const { children } of tokens) for (const token of children ?? []) resolveAddress(token, source);
  labelTables(tokens);
  const first = tokens.findIndex(({ type }) => type === "paragraph_open");
  const parts = partsOf(tokens);
  return {
    html: markdown.renderer.render(tokens, markdown.options, {}),
    parts,
    summary: plainText(tokens[first + 1]),
  };
}

/**
 * The Markdown as a reader without the site gets it: comments gone, links led to the served files (others are no links), and the programs
 * that a paragraph links to in its place.
 */
export function sourceText(text: string, file: string, addressOf: Source["addressOf"]): string {
  const source = { file, addressOf };
  return text
    .replace(/<!--[\s\S]*?-->/g, "")
    .split("\n")
    .map((line) => {
      const programs = examplesOf(line, source);
      if (programs.length > 0) return programs.map(programText).join("\n");
      return line.replace(/\[([^[\]]*)\]\(([^()\s]+)\)/g, (link, label: string, address: string) => {
        if (address.startsWith("#") || /^[a-z]+:/i.test(address)) return link;
        const [, fragment] = address.split("#");
        const found = addressOf(fileOf(source, address));
        if (found === undefined) return label;
        return `[${label}](${found}${fragment === undefined ? "" : `#${fragment}`})`;
      });
    })
    .join("\n");
}

function programText(file: string): string {
  const fence = (language: string, content: string) => `\`\`\`${language}\n${content}\n\`\`\`\n`;
  const output = outputOf(file);
  const language = EXAMPLE.exec(file)?.[1]?.replace("mjs", "js") ?? "";
  const program = fence(language, readText(file).trimEnd());
  return output === undefined ? program : `${program}\nOutput:\n\n${fence("", output)}`;
}

/** A labelled block of code, which a keyboard can scroll and a script gives a button to copy. */
function codeBlock(label: string, language: string, text: string): string {
  const code = highlighter.getLanguage(language)
    ? highlighter.highlight(text, { language }).value
    : escapeHtml(text);
  return `<figure class="code"><figcaption>${escapeHtml(label)}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>\n`;
}

function plainText(inline: Token | undefined): string {
  return (inline?.children ?? [])
    .map(({ type, content }) => (type === "softbreak" || type === "hardbreak" ? " " : content))
    .join("");
}

/** Gives headings the ids that code hosts give them, and splits the page at them. */
function partsOf(tokens: readonly Token[]): Part[] {
  const parts: { heading: Heading; text: string }[] = [];
  const seen = new Map<string, number>();
  for (const [at, token] of tokens.entries()) {
    const inline = tokens[at + 1];
    if (token.type === "heading_open" && inline !== undefined) {
      const text = plainText(inline);
      const id = slugOf(text);
      const count = seen.get(id) ?? 0;
      seen.set(id, count + 1);
      const heading = { level: Number(token.tag.slice(1)), id: count === 0 ? id : `${id}-${count}`, text };
      token.attrSet("id", heading.id);
      parts.push({ heading, text: "" });
      continue;
    }
    const part = parts.at(-1);
    if (part === undefined || tokens[at - 1]?.type === "heading_open") continue;
    if (token.type === "inline") part.text += `${plainText(token)} `;
    if (token.type === "fence") part.text += `${token.content} `;
  }
  return parts;
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

function fileOf({ file }: Source, address: string): string {
  return posix.normalize(posix.join(posix.dirname(file), address.split("#")[0] ?? ""));
}

/** Points a link or picture to the site's address of its file; a file that is not served is no link. */
function resolveAddress(token: Token, source: Source): void {
  const name = { link_open: "href", image: "src" }[token.type];
  if (name === undefined) return;
  const address = String(token.attrGet(name));
  if (address.startsWith("#") || /^[a-z]+:/i.test(address)) return;
  const [, fragment] = address.split("#");
  const found = source.addressOf(fileOf(source, address));
  if (found === undefined) token.attrs = [["class", "unlinked"]];
  else token.attrSet(name, fragment === undefined ? found : `${found}#${fragment}`);
}

/** Numbers the tables, whose frames are landmarks; an empty head is no head for a screen reader. */
function labelTables(tokens: readonly Token[]): void {
  const tables = tokens.filter(({ type }) => type === "table_open");
  for (const [at, table] of tables.entries()) table.attrSet("aria-label", `Table ${at + 1}`);
  for (const [at, { type }] of tokens.entries())
    if (type === "th_open" && tokens[at + 1]?.content === "")
      for (const token of [tokens[at], tokens[at + 2]]) Object.assign(token as Token, { tag: "td" });
}

/** Makes a paragraph of links to programs of `examples/guides` show these programs, one a tab, with their output. */
function showExamples([paragraph, inline, end]: readonly Token[], source: Source): void {
  const files = paragraph?.type === "paragraph_open" ? examplesOf(inline?.content ?? "", source) : [];
  if (files.length === 0) return;
  const tabs = `<div class="tabs">${files.map(panelOf).join("")}</div>\n`;
  Object.assign(paragraph as Token, { type: "html_block", content: tabs });
  Object.assign(inline as Token, { content: "", children: [] });
  Object.assign(end as Token, { hidden: true });
}

function examplesOf(paragraph: string, source: Source): string[] {
  const isOnlyLinks = /^(?:\[[^\]]+\]\([^)\s]+\)[\s·,]*)+$/.test(paragraph);
  const links = [...paragraph.matchAll(/\]\(([^)\s]+)\)/g)];
  const files = links.map(([, address = ""]) => fileOf(source, address));
  return isOnlyLinks && files.every((file) => EXAMPLE.test(file)) ? files : [];
}

function panelOf(file: string): string {
  const language = EXAMPLE.exec(file)?.[1] ?? "";
  const label = TABS[language] ?? language;
  const program = codeBlock(label, language, readText(file).trimEnd());
  const output = outputOf(file);
  return `<div class="panel" data-tab="${label}">${program}${output === undefined ? "" : codeBlock("Output", "", output)}</div>`;
}

/** What a program prints; the modules that programs share print nothing. */
function outputOf(file: string): string | undefined {
  return /\/bellhop\.\w+$/.test(file) ? undefined : readText(`${file}.txt`).trimEnd();
}

const { rules } = markdown.renderer;
/** `<br>` in the cells of tables is the only markup that documents use. */
rules["text"] = (tokens, at) => escapeHtml(tokens[at]?.content ?? "").replaceAll("&lt;br&gt;", "<br>");
/** Long names break at their dots, options nowhere. */
rules["code_inline"] = (tokens, at) => {
  const text = escapeHtml(tokens[at]?.content ?? "").replace(/\.(?=\w{3})/g, ".<wbr>");
  return /^-[\w-]+$/.test(text) ? `<code class="option">${text}</code>` : `<code>${text}</code>`;
};
rules["fence"] = (tokens, at) => {
  const { info, content } = tokens[at] as Token;
  const language = info.trim();
  const [label] = LANGUAGES[language as keyof typeof LANGUAGES] ?? [language === "" ? "Text" : language];
  return codeBlock(label, language, content.trimEnd());
};
rules["table_open"] = (tokens, at) =>
  `<div class="wide" tabindex="0" role="region" aria-label="${tokens[at]?.attrGet("aria-label")}"><table>\n`;
rules["table_close"] = () => "</table></div>\n";
