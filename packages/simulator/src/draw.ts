import type { SeededRandom } from "./seeded-random.ts";

/**
 * Draws from what was counted. Only addition, subtraction, multiplication, division and rounding are used, which IEEE 754 defines to
 * the last bit: `Math.exp`, `Math.log` and their like may differ from one engine to the next, and a seed must not.
 */

const DRAWS = 4_294_967_296;

/** Draws an index as often as its weight says, in the sum of all. */
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

/** A value between the quantiles that stand at equal steps. */
export function drawQuantile(random: SeededRandom, quantiles: readonly number[]): number {
  return drawQuantileBetween(random, quantiles, 0, quantiles.length - 1);
}

/** The same between two places among the quantiles: 0 is the least value, the number of steps the greatest. */
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

/** Beyond this the rest of the events is less probable than a draw can tell. */
const LEAST_PROBABILITY = 1e-12;

/** How many events come where `mean` are expected (Poisson, by inversion). */
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

/** e^-x: the series of a 1,024th of x, to the power of 1,024. Good to ten digits for x below 100. */
function negativeExponential(x: number): number {
  const part = x / 2 ** HALVINGS;
  let power = 1 - part * (1 - (part / 2) * (1 - (part / 3) * (1 - (part / 4) * (1 - part / 5))));
  for (let halving = 0; halving < HALVINGS; halving += 1) power *= power;
  return power;
}
