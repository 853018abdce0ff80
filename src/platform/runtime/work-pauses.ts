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
}
