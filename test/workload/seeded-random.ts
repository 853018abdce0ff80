// The simulator's own: one generator of pseudo-random numbers is enough, and the service's sources import no tests.
export { SeededRandom } from "#simulator/random.ts";
