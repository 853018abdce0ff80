import { existsSync } from "node:fs";
import { type Html, html } from "../../markup/html.ts";
import { codeBlock } from "../page/code-block.ts";
import { highlightedCode } from "../page/highlight.ts";
import type { Block } from "../page/markdown-blocks.ts";
import { type Page, readText, repositoryUrl } from "./contents.ts";
import { fileOf } from "./resolve-link.ts";

const LANGUAGES: Readonly<Record<string, string>> = { sh: "curl", ts: "TypeScript", py: "Python" };
const ONLY_LINKS = /^(?:\[[^\]]+\]\([^)\s]+\)[\s·,]*)+$/;
const OF_EXAMPLES = /^examples\/guides\/[\w-]+\.(sh|ts|py)$/;

/**
 * A paragraph of nothing but links to programs of examples/guides is those programs, one a tab, each with what it prints: a test runs the same files and
 * compares the same prints. Undefined of any other block.
 */
export function exampleTabs(page: Page, block: Block): Html | undefined {
  if (block.kind !== "paragraph" || !ONLY_LINKS.test(block.text)) return undefined;
  const files = [...block.text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, address = ""]) => fileOf(page, address));
  if (files.length === 0 || !files.every((file) => OF_EXAMPLES.test(file))) return undefined;
  return html`<div class="tabs">${files.map(panelOf)}</div>`;
}

function panelOf(file: string): Html {
  const kind = OF_EXAMPLES.exec(file)?.[1] ?? "";
  const language = LANGUAGES[kind] ?? kind;
  const prints = `${file}.txt`;
  return html`<div class="panel" data-tab="${language}">${codeBlock(language, highlightedCode(kind, readText(file).trimEnd()), true)}${
    existsSync(repositoryUrl(prints)) ? codeBlock("Prints", readText(prints).trimEnd()) : ""
  }</div>`;
}
