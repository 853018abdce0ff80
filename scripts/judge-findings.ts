/**
 * `npm run campaign -- judge-findings [--nights 200] [--seed N]`: plants one and two causes a night in hotels of their own, and counts how often
 * reconciliation lists them first, and among the first three. Exits with 1 below 95 % of the first and 80 % of the second.
 */
import { judgeFindings } from "../test/insight/judge-findings.ts";
import { startTestService } from "../test/support/service.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- judge-findings [--hotels 4] [--nights 364] [--seed N]

Plants known causes in the feeds of hotels, one and two a night, one night a week, and counts how often the findings of the night
list them first, and among the first three. Exit code 1 below 95 % first of one, or 80 % among the first three of two.

  --hotels N      hotels with one cause a night; half as many have two
  --nights N      nights of each
  --seed N        of the hotels and causes`;

const values = readOptions(USAGE, {
  hotels: { type: "string", default: "4" },
  nights: { type: "string", default: "364" },
  seed: { type: "string", default: String(Date.now() % 100_000) },
});

const [hotels, nights, seed] = [values.hotels, values.nights, values.seed].map(Number) as [
  number,
  number,
  number,
];
const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
const service = await startTestService();
try {
  const one = await judgeFindings(service, seed, hotels, nights, 1);
  const two = await judgeFindings(service, seed, Math.ceil(hotels / 2), nights, 2);
  for (const failure of [...one.failures, ...two.failures]) console.log(failure);
  console.log(
    `seed ${seed}: of ${one.nights} nights with one cause, it is first on ${percent(one.first, one.nights)} and among the first three on ${percent(one.firstThree, one.nights)}`,
  );
  console.log(
    `of ${two.nights} nights with two, both are first on ${percent(two.first, two.nights)} and among the first three on ${percent(two.firstThree, two.nights)}`,
  );
  if (one.first < 0.95 * one.nights || two.firstThree < 0.8 * two.nights) process.exitCode = 1;
} finally {
  await service.stop();
}
