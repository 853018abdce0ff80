/** Places of a list, each of which is claimed once. Claiming is quick however many are claimed already. */
export class Unclaimed {
  /** The first place from each on that may be left. */
  readonly #next: Uint32Array;

  constructor(count: number) {
    this.#next = Uint32Array.from({ length: count + 1 }, (_, place) => place);
  }

  /** Claims what is left from one place up to another, and answers which these are. */
  claim(from: number, to: number): number[] {
    const claimed: number[] = [];
    for (let place = this.#leftFrom(from); place < to; place = this.#leftFrom(place + 1)) {
      claimed.push(place);
      this.#next[place] = place + 1;
    }
    return claimed;
  }

  #leftFrom(place: number): number {
    let left = place;
    while (this.#next[left] !== left) left = this.#next[left] as number;
    // Whoever comes by here again finds it at once.
    for (let at = place; at !== left; ) {
      const next = this.#next[at] as number;
      this.#next[at] = left;
      at = next;
    }
    return left;
  }
}
