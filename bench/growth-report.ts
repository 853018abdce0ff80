import type { Goal } from "./goals.ts";
import type { GrowthResult } from "./growth.ts";
import type { PageFigures } from "./pages.ts";
import { spreadOf } from "./statistics.ts";

const RATIO_MIN = 0.9;

function pageGoal(text: string, { pages, p50Ms, p99Ms }: PageFigures, mostMs: number): Goal {
  const measured = `${p99Ms.toFixed(1)} ms, median ${p50Ms.toFixed(1)} ms of ${pages}`;
  return { text: `${text}: p99 <= ${mostMs} ms`, measured, met: p99Ms <= mostMs };
}

/** The goals that a growth run measures. Ratios are calculated per round; the median counts. */
export function growthGoals({ millions, cases, pushed, scattered }: GrowthResult): Goal[] {
  const at = `at ${millions} million versions`;
  const ratios = cases.map(({ name, empty, filled }): Goal => {
    const { median, min, max } = spreadOf(filled.map((rate, round) => rate / (empty[round] ?? Number.NaN)));
    const rate = Math.round(spreadOf(filled).median).toLocaleString("en-US");
    return {
      text: `${name} applied ${at}: >= ${RATIO_MIN} of the empty database`,
      measured: `${median.toFixed(2)} [${min.toFixed(2)} to ${max.toFixed(2)}], ${rate} records/s`,
      met: median >= RATIO_MIN,
    };
  });
  return [
    ...ratios,
    pageGoal(`a page of 1,000 as a push left it, ${at}`, pushed, 30),
    pageGoal(`a page of 1,000 over as many batches, ${at}`, scattered, 250),
  ];
}
