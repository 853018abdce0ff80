import type { Page } from "playwright-core";

/** Marks what an operator can act on, and notes what gets the focus, and whether that is seen. */
const WATCH = `(() => {
  const acted = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]");
  globalThis.walk = { wanted: [...document.querySelectorAll(acted)].filter(isShown), seen: new Set(), dim: [] };
  const hasRing = (element) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
  };
  document.activeElement?.blur();
  addEventListener("focusin", ({ target }) => {
    // A choice has its ring around the text beside its radio button.
    const around = [target, target.nextElementSibling, target.closest("label")].filter(Boolean);
    if (!walk.seen.has(target) && !around.some(hasRing)) walk.dim.push(target);
    walk.seen.add(target);
  });
})()`;

/** Each part of a date takes a press, and one more enters the page. */
const COUNT_PRESSES = `walk.wanted.reduce((sum, { type }) => sum + ({ date: 4, "datetime-local": 7 }[type] ?? 1), 1)`;

const REPORT = `(() => {
  const nameOf = (element) => element.outerHTML.slice(0, 160);
  const groupOf = ({ type, name }) => (type === "radio" ? name : undefined);
  const groups = new Set([...walk.seen].map(groupOf));
  const reached = (element) => walk.seen.has(element) || (element.type === "radio" && groups.has(element.name));
  const byPointer = [...document.querySelectorAll("main *")].filter(
    (element) =>
      getComputedStyle(element).cursor === "pointer" &&
      !element.closest("a[href], button, label, input, select, option, summary, [tabindex='0']"),
  );
  return [
    ...walk.wanted.filter((element) => element.isConnected && !reached(element)).map((each) => "no key reaches " + nameOf(each)),
    ...walk.dim.map((each) => "the focus is not seen on " + nameOf(each)),
    ...byPointer.map((each) => "for the pointer only: " + nameOf(each)),
  ];
})()`;

/** Walks a page by the Tab key; what it does not reach, or not visibly, a line each: none is the goal. */
export async function missedByKeys(page: Page): Promise<string[]> {
  await page.evaluate(WATCH);
  const presses = await page.evaluate<number>(COUNT_PRESSES);
  await Promise.all(Array.from({ length: presses }, () => page.keyboard.press("Tab")));
  return await page.evaluate<string[]>(REPORT);
}
