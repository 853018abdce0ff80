/** A piece of a document, one below the other. Texts are inline Markdown still: `inline-markdown.ts` reads them. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | {
      readonly kind: "list";
      /** The number of the first item; undefined of a list without numbers. */
      readonly start: number | undefined;
      /** Whether its items stand close together, without paragraphs of their own. */
      readonly tight: boolean;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] };

const FENCE = /^(`{3,}|~{3,})\s*([\w-]*)\s*$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(-|\*|(\d{1,9})\.)(\s+)(.*)$/;
const RULE_OF_TABLE = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/;
const COMMENT_START = /^<!--/;
/** Deeper than any document of ours goes; what is nested deeper stays a paragraph. */
const DEPTH_MAX = 8;

/**
 * The blocks of a Markdown text: headings, paragraphs, fenced code, lists, tables and quotes as CommonMark and GFM have them.
 * Comments are left out; HTML is text. Setext headings, indented code and reference links are not read.
 */
export function readBlocks(markdown: string): Block[] {
  return blocksOf(markdown.replaceAll("\r\n", "\n").split("\n"), 0);
}

interface Taken {
  readonly block: Block | undefined;
  /** The line behind it. */
  readonly end: number;
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at]?.trim() === "") {
      at += 1;
      continue;
    }
    const { block, end } = takeBlock(lines, at, depth);
    if (block !== undefined) blocks.push(block);
    at = end;
  }
  return blocks;
}

function takeBlock(lines: readonly string[], at: number, depth: number): Taken {
  const line = lines[at] ?? "";
  const heading = HEADING.exec(line);
  if (heading !== null)
    return {
      block: { kind: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "" },
      end: at + 1,
    };
  if (FENCE.test(line)) return takeCode(lines, at);
  if (COMMENT_START.test(line)) return { block: undefined, end: endOfComment(lines, at) };
  if (line.startsWith("|") && RULE_OF_TABLE.test(lines[at + 1] ?? "")) return takeTable(lines, at);
  if (depth < DEPTH_MAX && ITEM.test(line)) return takeList(lines, at, depth);
  if (depth < DEPTH_MAX && line.startsWith(">")) return takeQuote(lines, at, depth);
  return takeParagraph(lines, at);
}

function takeCode(lines: readonly string[], at: number): Taken {
  const [, fence = "```", language = ""] = FENCE.exec(lines[at] ?? "") ?? [];
  const closing = lines.findIndex((line, index) => index > at && line.trim() === fence);
  const end = closing === -1 ? lines.length : closing;
  return { block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, end: end + 1 };
}

function endOfComment(lines: readonly string[], at: number): number {
  const last = lines.findIndex((line, index) => index >= at && line.includes("-->"));
  return last === -1 ? lines.length : last + 1;
}

/** The cells of a row; `\|` is a bar within one. */
function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function takeTable(lines: readonly string[], at: number): Taken {
  const head = cellsOf(lines[at] ?? "");
  let end = at + 2;
  const rows: string[][] = [];
  while (lines[end]?.startsWith("|") === true) {
    const cells = cellsOf(lines[end] ?? "");
    rows.push(head.map((_name, column) => cells[column] ?? ""));
    end += 1;
  }
  return { block: { kind: "table", head, rows }, end };
}

function takeQuote(lines: readonly string[], at: number, depth: number): Taken {
  let end = at;
  while (lines[end]?.startsWith(">") === true) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^> ?/, ""));
  return { block: { kind: "quote", blocks: blocksOf(inner, depth + 1) }, end };
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The lines of an item, without its mark and indentation, and the line behind it. */
function takeItem(lines: readonly string[], at: number): { inner: string[]; end: number } {
  const [, mark = "-", , gap = " ", text = ""] = ITEM.exec(lines[at] ?? "") ?? [];
  const indent = mark.length + gap.length;
  const inner = [text];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const before = lines[end - 1] ?? "";
    if (line.trim() === "") {
      inner.push("");
      continue;
    }
    // A paragraph may go on without indentation; anything else needs the item's.
    const goesOn = before.trim() !== "" && indentOf(line) === 0 && !startsBlock(line);
    if (indentOf(line) < Math.min(indent, 2) && !goesOn) break;
    inner.push(line.slice(Math.min(indentOf(line), indent)));
  }
  return { inner, end };
}

function takeList(lines: readonly string[], at: number, depth: number): Taken {
  const [, , first] = ITEM.exec(lines[at] ?? "") ?? [];
  const items: Block[][] = [];
  let tight = true;
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end] ?? "");
    if (item === null || (item[2] === undefined) !== (first === undefined)) break;
    const taken = takeItem(lines, end);
    const isLast = !ITEM.test(lines[taken.end] ?? "");
    const text = taken.inner.join("\n");
    // A blank line between the item's own blocks, or before the next item, makes the list loose.
    if (/\n\s*\n/.test(isLast ? text.trimEnd() : text) && !text.includes("```")) tight = false;
    items.push(blocksOf(taken.inner, depth + 1));
    end = taken.end;
  }
  return {
    block: { kind: "list", start: first === undefined ? undefined : Number(first), tight, items },
    end,
  };
}

function startsBlock(line: string): boolean {
  return (
    HEADING.test(line) ||
    FENCE.test(line) ||
    COMMENT_START.test(line) ||
    line.startsWith("|") ||
    line.startsWith(">") ||
    ITEM.test(line)
  );
}

/** Only a list that begins at 1, or has no numbers, may follow a paragraph's line: `2026. A year` in a text is no list. */
function endsParagraph(line: string): boolean {
  const number = ITEM.exec(line)?.[2];
  return startsBlock(line) && (number === undefined || number === "1");
}

function takeParagraph(lines: readonly string[], at: number): Taken {
  let end = at + 1;
  while (end < lines.length && lines[end]?.trim() !== "" && !endsParagraph(lines[end] ?? "")) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join("\n");
  return { block: { kind: "paragraph", text }, end };
}
