// Shares the simulator's generator.
export { SeededRandom } from "#simulator/random.ts";
