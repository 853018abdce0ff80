import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What dark colours can break, and they alone. */
const OF_COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** What axe finds wrong on a page, a line each: none is the goal. `ofColours`: only what other colours can break. */
export async function violationsOf(page: Page, ofColours = false): Promise<string[]> {
  // By the debugger's protocol, past the page's policy, which rightly lets no other script in.
  await page.evaluate(source);
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(ofColours ? OF_COLOURS : RULES)} })`,
  )) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}
