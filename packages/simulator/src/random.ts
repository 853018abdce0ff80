/** Seeded random numbers (xoshiro128**, seeded by splitmix32), reproducible from the seed. Not for secrets. */
export class SeededRandom {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    let x = seed >>> 0;
    this.#state = Uint32Array.from({ length: 4 }, () => {
      x = (x + 0x9e3779b9) >>> 0;
      let z = x;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    });
  }

  /** An independent stream by number: more draws from one stream do not change another. */
  static stream(seed: number, stream: number): SeededRandom {
    return new SeededRandom(Math.imul(seed, 0x01000193) ^ Math.imul(stream + 1, 0x85ebca6b));
  }

  /** A whole number in [0, 2^32). */
  next(): number {
    const state = this.#state;
    // By index: destructuring uses the slow iterator.
    const a = state[0] as number;
    const b = state[1] as number;
    const c = state[2] as number;
    const d = state[3] as number;
    const x = Math.imul(b, 5);
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0;
    const c1 = c ^ a;
    const d1 = d ^ b;
    state[1] = b ^ c1;
    state[0] = a ^ d1;
    state[2] = c1 ^ (b << 9);
    state[3] = (d1 << 11) | (d1 >>> 21);
    return result;
  }

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor((this.next() / 4_294_967_296) * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() / 4_294_967_296 < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new RangeError("Cannot pick from an empty list.");
    return item;
  }

  /** Shuffles the array in place (Fisher-Yates) and returns it. */
  shuffle<Item>(items: Item[]): Item[] {
    for (let at = items.length - 1; at > 0; at -= 1) {
      const other = this.between(0, at);
      [items[at], items[other]] = [items[other] as Item, items[at] as Item];
    }
    return items;
  }
}

/** Only operations that IEEE 754 defines to the last bit: `Math.exp` and `Math.log` differ between engines. */

const DRAWS = 4_294_967_296;

/** Draws an index by weight. */
export class Weights {
  readonly #sums: number[];
  readonly #sum: number;

  constructor(weights: readonly number[]) {
    let sum = 0;
    this.#sums = weights.map((weight) => {
      sum += weight;
      return sum;
    });
    this.#sum = sum;
  }

  draw(random: SeededRandom): number {
    const at = (random.next() / DRAWS) * this.#sum;
    const sums = this.#sums;
    let index = 0;
    while (index < sums.length - 1 && at >= (sums[index] as number)) index += 1;
    return index;
  }
}

export function drawQuantile(random: SeededRandom, quantiles: readonly number[]): number {
  return drawQuantileBetween(random, quantiles, 0, quantiles.length - 1);
}

/** Draws between quantiles at equal steps, from one place to another. */
export function drawQuantileBetween(
  random: SeededRandom,
  quantiles: readonly number[],
  first: number,
  last: number,
): number {
  const at = first + (random.next() / DRAWS) * (last - first);
  const step = Math.floor(at);
  const from = quantiles[step] as number;
  return from + ((quantiles[step + 1] ?? from) - from) * (at - step);
}

const LEAST_PROBABILITY = 1e-12;

/** Draws from a Poisson distribution by inversion. */
export function drawCount(random: SeededRandom, mean: number): number {
  if (mean <= 0) return 0;
  const at = random.next() / DRAWS;
  let probability = negativeExponential(mean);
  let sum = probability;
  let count = 0;
  while (at > sum && (count < mean || probability > LEAST_PROBABILITY)) {
    count += 1;
    probability = (probability * mean) / count;
    sum += probability;
  }
  return count;
}

const HALVINGS = 10;

/** e^-x as the power of 1,024 of the series of x / 1,024. Ten correct digits for x below 100. */
function negativeExponential(x: number): number {
  const part = x / 2 ** HALVINGS;
  let power = 1 - part * (1 - (part / 2) * (1 - (part / 3) * (1 - (part / 4) * (1 - part / 5))));
  for (let halving = 0; halving < HALVINGS; halving += 1) power *= power;
  return power;
}
