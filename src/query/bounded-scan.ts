import type { Position } from "../platform/http/position.ts";

/** One step of a scan: the matching rows in order, the number of rows read, and the position of the last row read. */
export interface ScanStep<Row> {
  readonly matching: readonly Row[];
  readonly examined: number;
  readonly last: Position | null;
  /** The step ended early; the page ends here, but not the list. */
  readonly stopped?: boolean;
}

export interface Scan<Row> {
  /** Reads the next `count` rows after a position (null: from the start). */
  step(after: Position | null, count: number): Promise<ScanStep<Row>>;
  positionOf(row: Row): Position;
  /** Maximum rows per step, which bounds memory. */
  readonly stepMax: number;
  /** Maximum rows read per page, which bounds cost however few match. */
  readonly examinedMax: number;
  /** Whether every row matches; then the first step reads only one row more than the page. */
  readonly everyRowMatches: boolean;
}

/** Yields at most `limit` rows of one page; returns the next position, or null at the end. A page may be short or empty before the end. */
export async function* scanPage<Row>(
  scan: Scan<Row>,
  start: Position | null,
  limit: number,
): AsyncGenerator<readonly Row[], Position | null> {
  let after = start;
  let left = limit;
  let examinedLeft = scan.examinedMax;
  while (examinedLeft > 0) {
    const wanted = scan.everyRowMatches ? left + 1 : scan.stepMax;
    const count = Math.min(wanted, scan.stepMax, examinedLeft);
    const found = await scan.step(after, count);
    const taken = found.matching.slice(0, left);
    if (taken.length > 0) yield taken;
    left -= taken.length;
    const lastTaken = taken.at(-1);
    if (found.matching.length > taken.length && lastTaken !== undefined) return scan.positionOf(lastTaken);
    if (found.stopped === true) return found.last;
    if (found.examined < count) return null;
    if (left === 0) return found.last;
    after = found.last;
    examinedLeft -= found.examined;
  }
  return after;
}

/** All rows of a page and the next position. */
export async function wholePage<Row>(
  page: AsyncGenerator<readonly Row[], Position | null>,
): Promise<{ readonly rows: Row[]; readonly next: Position | null }> {
  const rows: Row[] = [];
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { rows, next: step.value };
    rows.push(...step.value);
  }
}
