/** What is to happen, by day; within a day by second, and of one second in the order of entry. */
export class Agenda<Item> {
  readonly #days = new Map<number, Entry<Item>[]>();
  #entered = 0;
  /** The day that is being taken: its entries are in order, up to #at they are done. */
  #today = Number.NEGATIVE_INFINITY;
  #entries: Entry<Item>[] = [];
  #at = 0;

  add(day: number, second: number, item: Item): void {
    const entry = { second, entered: this.#entered++, item };
    if (day === this.#today) this.#insert(entry);
    else {
      const entries = this.#days.get(day);
      if (entries === undefined) this.#days.set(day, [entry]);
      else entries.push(entry);
    }
  }

  /** The first day of which there is anything. */
  get firstDay(): number | undefined {
    let first: number | undefined;
    for (const day of this.#days.keys()) if (first === undefined || day < first) first = day;
    return first;
  }

  /** Does what there is of a day in order, with what is added to the day meanwhile. */
  run(day: number, happen: (item: Item, second: number) => void): void {
    this.#today = day;
    this.#entries = (this.#days.get(day) ?? []).sort(inOrder);
    this.#days.delete(day);
    for (this.#at = 0; this.#at < this.#entries.length; this.#at += 1) {
      const { item, second } = this.#entries[this.#at] as Entry<Item>;
      happen(item, second);
    }
    this.#today = Number.NEGATIVE_INFINITY;
    this.#entries = [];
  }

  /** Behind what is done and what is due before it. */
  #insert(entry: Entry<Item>): void {
    const entries = this.#entries;
    let at = this.#at + 1;
    while (at < entries.length && inOrder(entries[at] as Entry<Item>, entry) <= 0) at += 1;
    entries.splice(at, 0, entry);
  }
}

interface Entry<Item> {
  readonly second: number;
  readonly entered: number;
  readonly item: Item;
}

function inOrder<Item>(one: Entry<Item>, other: Entry<Item>): number {
  return one.second - other.second || one.entered - other.entered;
}
