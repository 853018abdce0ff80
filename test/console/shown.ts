import type { Locator } from "playwright-core";

export type Shown = number | null;
/** A row of a table as it is shown: figures by the heads of their columns. */
export interface ShownRow {
  readonly head: string;
  readonly kind: string;
  readonly cells: Readonly<Record<string, string>>;
}

/** `−1,234.50 EUR`, `85.3 %`, `+3`; null: a dash, or nothing. */
export function readFigure(text: string): Shown {
  const digits = text.replaceAll("−", "-").replaceAll(/[^0-9.-]/g, "");
  return /[0-9]/.test(digits) ? Number(digits) : null;
}

export interface ShownFigure {
  readonly value: string;
  readonly note: string;
}

/** What of the page's elements is read. */
export interface Element {
  readonly innerText: string;
  readonly className: string;
  readonly dataset: { readonly head?: string };
  readonly scrollWidth: number;
  readonly clientWidth: number;
  readonly children: Iterable<Element>;
}

export async function figuresOf(strip: Locator): Promise<ReadonlyMap<string, ShownFigure>> {
  const read = await strip.evaluate((list: Element) =>
    [...list.children].map(({ children }) => [...children].map(({ innerText }) => innerText)),
  );
  return new Map(read.map(([name = "", value = "", note = ""]) => [name, { value, note }]));
}

export async function rowsOf(table: Locator): Promise<readonly ShownRow[]> {
  const rows = table.locator(":scope > tbody > tr");
  await rows.first().waitFor();
  return await rows.evaluateAll((all: Element[]) =>
    all.map(({ className, children }) => {
      const [first, ...cells] = children;
      return {
        head: first?.innerText ?? "",
        kind: className,
        cells: Object.fromEntries(cells.map(({ dataset, innerText }) => [dataset.head, innerText])),
      };
    }),
  );
}
