/** Bounds the sum of the values' weights, too. A single heavier value is not kept. */
interface Weights<Value> {
  readonly most: number;
  of(value: Value): number;
}

/** An LRU cache with at most `capacity` entries. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  readonly #weights: Weights<Value> | undefined;
  #weight = 0;

  constructor(capacity: number, weights?: Weights<Value>) {
    this.#capacity = capacity;
    this.#weights = weights;
  }

  /** Returns the value and marks it as recently used. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    // A Map iterates in insertion order, so its first entry is the least recently used.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weights?.of(value) ?? 0;
    while (this.#entries.size > this.#capacity || this.#weight > (this.#weights?.most ?? 0)) {
      const [oldest] = this.#entries.keys();
      this.delete(oldest as Key);
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weights?.of(value) ?? 0;
  }
}
