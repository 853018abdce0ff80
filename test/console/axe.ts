import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { DESK, PHONE } from "./chromium.ts";

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/** What is asked of a page: everything; what other colours can break; or all that they cannot, which another width can. */
const ASKED = {
  all: { runOnly: RULES },
  colours: { runOnly: { type: "rule", values: OF_COLOURS } },
  layout: { runOnly: RULES, rules: Object.fromEntries(OF_COLOURS.map((id) => [id, { enabled: false }])) },
};

/** What is right is not described, element by element, and no address is asked for: pages have no frames, and styles of their own. */
const VIOLATIONS_ALONE = { resultTypes: ["violations"], iframes: false, preload: false };

/** What fades in has not its colours yet; what repeats for ever is not waited for. */
const UNTIL_FADED_IN = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished)).then(() => undefined)`;

/** What axe finds wrong on a page, a line each: none is the goal. */
export async function violationsOf(page: Page, asked: keyof typeof ASKED = "all"): Promise<string[]> {
  // By the debugger's protocol, past the page's policy, which rightly lets no other script in; once a page.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(source);
  await page.evaluate(UNTIL_FADED_IN);
  const options = { ...ASKED[asked], ...VIOLATIONS_ALONE };
  const violations = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as AxeResults["violations"];
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}

/** In light, in dark and on a phone; then the page is as before. */
export async function violationsInEachLook(page: Page): Promise<string[]> {
  const found = await violationsOf(page);
  await page.emulateMedia({ colorScheme: "dark" });
  found.push(...(await violationsOf(page, "colours")));
  await page.setViewportSize(PHONE);
  found.push(...(await violationsOf(page, "layout")));
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(DESK);
  return found;
}
