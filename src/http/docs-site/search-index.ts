import { plainText } from "../page/inline-markdown.ts";
import { anchorsOf } from "../page/markdown.ts";
import { type Block, readBlocks } from "../page/markdown-blocks.ts";
import { readText, type Section } from "./contents.ts";

/** A part of a page, from one heading to the next, as the search finds it. */
export interface SearchEntry {
  /** From the root, without a slash at its beginning, with the fragment: `docs/contract#errors`. */
  readonly at: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** Long parts are tables and measurements: their first words tell what they are about. */
const TEXT_CHARACTERS_MAX = 4_000;

/** Every part of every page, in the order of the contents. */
export function searchIndex(sections: readonly Section[]): SearchEntry[] {
  return sections
    .flatMap(({ pages }) => pages)
    .flatMap((page) =>
      "file" in page ? entriesOf(page.path, page.label, readBlocks(readText(page.file))) : [],
    );
}

function entriesOf(path: string, page: string, blocks: readonly Block[]): SearchEntry[] {
  const anchors = anchorsOf(blocks);
  const starts = blocks.flatMap((block, at) => (block.kind === "heading" ? [at] : []));
  return starts.map((start, index) => {
    const heading = blocks[start] as Block & { kind: "heading" };
    const inside = blocks.slice(start + 1, starts[index + 1]);
    return {
      at: index === 0 ? path : `${path}#${anchors[start]}`,
      page,
      heading: plainText(heading.text),
      text: inside.map(wordsOf).join(" ").slice(0, TEXT_CHARACTERS_MAX),
    };
  });
}

/** The words of a block, without marks. */
function wordsOf(block: Block): string {
  switch (block.kind) {
    case "heading":
    case "paragraph":
      return plainText(block.text);
    case "code":
      return block.text;
    case "table":
      return [block.head, ...block.rows].map((row) => row.map(plainText).join(" ")).join(" ");
    case "quote":
      return block.blocks.map(wordsOf).join(" ");
    case "list":
      return block.items.map((item) => item.map(wordsOf).join(" ")).join(" ");
  }
}
