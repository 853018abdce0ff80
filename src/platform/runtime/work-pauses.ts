/** Work between pauses, and length of a pause. */
const WORK_MS = 2;
const PAUSE_MS = 2;
const PART_ITEMS = 500;

/**
 * Pauses of a long computation on a thread that serves other requests. A pause is a timer, not only a turn of the event loop, because
 * database processes need the CPU too.
 */
export class WorkPauses {
  #workingSince = performance.now();

  /** Whether to pause now; check between steps. */
  get isDue(): boolean {
    return performance.now() - this.#workingSince >= WORK_MS;
  }

  async pause(): Promise<void> {
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    this.#workingSince = performance.now();
  }

  /** The items, some hundred at a time, with pauses between. */
  async *inParts<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[], void> {
    for (let from = 0; from < items.length; from += PART_ITEMS) {
      if (this.isDue) await this.pause();
      yield items.slice(from, from + PART_ITEMS);
    }
  }

  /** The items sorted, as `toSorted` does, with pauses between. */
  async sorted<Item>(items: readonly Item[], compare: (one: Item, other: Item) => number): Promise<Item[]> {
    let runs: Item[][] = [];
    for await (const some of this.inParts(items)) runs.push(some.toSorted(compare));
    while (runs.length > 1) {
      const merged: Item[][] = [];
      for (let at = 0; at < runs.length; at += 2)
        merged.push(await this.#merged(runs[at] as Item[], runs[at + 1] ?? [], compare));
      runs = merged;
    }
    return runs[0] ?? [];
  }

  async #merged<Item>(
    left: readonly Item[],
    right: readonly Item[],
    compare: (one: Item, other: Item) => number,
  ): Promise<Item[]> {
    const merged: Item[] = [];
    let [ofLeft, ofRight] = [0, 0];
    while (ofLeft < left.length && ofRight < right.length) {
      if (merged.length % PART_ITEMS === 0 && this.isDue) await this.pause();
      const [one, other] = [left[ofLeft] as Item, right[ofRight] as Item];
      const isOne = compare(one, other) <= 0;
      merged.push(isOne ? one : other);
      if (isOne) ofLeft += 1;
      else ofRight += 1;
    }
    return merged.concat(left.slice(ofLeft), right.slice(ofRight));
  }
}
