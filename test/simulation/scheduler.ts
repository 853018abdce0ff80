/** A scheduled call; `call` is undefined once cancelled. */
export interface Planned {
  readonly at: number;
  readonly order: number;
  call: (() => void) | undefined;
}

function isBefore(left: Planned, right: Planned): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

/**
 * Simulated time: events in the order of their moments (milliseconds), and of their planning where those are equal. Between
 * two events every promise that the first one settled has run to where it waits again, so one seed is always one run.
 */
export class Scheduler {
  now = 0;
  events = 0;
  readonly #heap: Planned[] = [];
  #order = 0;
  #hasPromises = false;

  after(ms: number, call: () => void): Planned {
    return this.at(this.now + ms, call);
  }

  /** At a moment itself: a difference added again may come out a trifle less, and what was to follow come first. */
  at(moment: number, call: () => void): Planned {
    const planned: Planned = { at: moment, order: this.#order, call };
    this.#order += 1;
    this.#rise(planned);
    return planned;
  }

  /** The running event has settled or made promises: they are to run before the next event. */
  settle(): void {
    this.#hasPromises = true;
  }

  /** Runs one event after another until `isOver` or there is none left. Throws what an event throws. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          this.#hasPromises = false;
          // What happens within the database or on the way to it needs no promise: most events do.
          while (!this.#hasPromises) {
            const next = this.#take();
            if (next === undefined) {
              resolve();
              return;
            }
            this.now = next.at;
            this.events += 1;
            next.call?.();
            if (isOver()) {
              resolve();
              return;
            }
          }
        } catch (error) {
          reject(error);
          return;
        }
        queueMicrotask(goOn);
      };
      // A tick that is asked for by a promise runs when no promise is left that could go on.
      const goOn = (): void => process.nextTick(step);
      step();
    });
  }

  /** The next event that was not called off. */
  #take(): Planned | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return undefined;
      const last = this.#heap.pop() as Planned;
      if (last !== first) this.#sink(last);
      if (first.call !== undefined) return first;
    }
  }

  #rise(planned: Planned): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Planned;
      if (!isBefore(planned, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = planned;
  }

  #sink(planned: Planned): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      let least = left;
      if (right !== undefined && isBefore(right, left)) {
        least = right;
        child += 1;
      }
      if (!isBefore(least, planned)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = planned;
  }
}
