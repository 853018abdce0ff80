import { percentile } from "../statistics.ts";
import type { RetentionMinute, Stretch } from "./retention-minute.ts";
import type { Flatness } from "./soak-verdict.ts";
import type { WindowEvent } from "./window-watch.ts";

/** The maximum additional wait when a window comes or goes. */
const STALL_MS_MAX = 100;
/** Longer waits mean that batches are not applied as fast as they arrive, whatever windows do. */
const WAIT_MS_MAX = 10_000;
/** Margin beside the two samples between which a window came or went. */
const AROUND_MS = 250;
/** The maximum size of the database in the last third, relative to the second. */
const GROWTH_MAX = 1.1;
const STRETCH_MS = 2 * AROUND_MS + 250;

/** The longest wait in progress during each span. */
function longestIn(spans: readonly (readonly [number, number])[], of: readonly Stretch[]): number[] {
  return spans.map(([from, to]) => {
    let longest = 0;
    for (const { at, ms } of of) if (at >= from && at - ms <= to) longest = Math.max(longest, ms);
    return longest;
  });
}

/** Spans of the same length without window changes. */
function quietSpans(minutes: readonly RetentionMinute[], busy: readonly (readonly [number, number])[]) {
  const spans: [number, number][] = [];
  for (const { startedAt, endedAt } of minutes)
    for (let from = startedAt; from + STRETCH_MS < endedAt; from += STRETCH_MS) {
      const to = from + STRETCH_MS;
      if (!busy.some(([begin, end]) => begin <= to && end >= from)) spans.push([from, to]);
    }
  return spans;
}

function stallsOf(
  what: string,
  busy: readonly (readonly [number, number])[],
  quiet: readonly (readonly [number, number])[],
  of: readonly Stretch[],
): Flatness {
  const around = longestIn(busy, of).sort((left, right) => left - right);
  const elsewhere = longestIn(quiet, of).sort((left, right) => left - right);
  const longest = around.at(-1) ?? 0;
  const ms = (value: number | undefined) => (value ?? 0).toFixed(0);
  return {
    what,
    said: `longest ${ms(longest)} ms around ${busy.length} windows that came or went (median ${ms(percentile(around, 0.5))}, p90 ${ms(percentile(around, 0.9))}); in ${quiet.length} as long stretches without ${ms(elsewhere.at(-1))} ms (median ${ms(percentile(elsewhere, 0.5))}, p90 ${ms(percentile(elsewhere, 0.9))})`,
    // A busy machine has longer waits without windows, too; then these are the limit.
    isFlat: longest <= Math.max(STALL_MS_MAX, elsewhere.at(-1) ?? 0),
  };
}

/** The result as text. `lost`: permanent records that cannot be read. */
export function retentionVerdict(
  minutes: readonly RetentionMinute[],
  events: readonly WindowEvent[],
  lost: number,
): Flatness[] {
  const third = Math.floor(minutes.length / 3);
  const most = (part: readonly RetentionMinute[]) =>
    Math.max(...part.map(({ databaseBytes }) => databaseBytes));
  const [second, last] = [most(minutes.slice(third, 2 * third)), most(minutes.slice(2 * third))];
  const busy = events.map(({ afterMs, beforeMs }) => [afterMs - AROUND_MS, beforeMs + AROUND_MS] as const);
  const quiet = quietSpans(minutes, busy);
  const behind = Math.max(...minutes.map(({ behindMs }) => behindMs));
  const refused = minutes.reduce((sum, minute) => sum + minute.refused, 0);
  return [
    {
      what: "disk",
      said: `${(second / 1e6).toFixed(0)} MB at most in the second third, ${(last / 1e6).toFixed(0)} in the last`,
      isFlat: last <= second * GROWTH_MAX,
    },
    stallsOf(
      "accept",
      busy,
      quiet,
      minutes.flatMap(({ sent }) => sent),
    ),
    stallsOf(
      "apply",
      busy,
      quiet,
      minutes.flatMap(({ gaps }) => gaps),
    ),
    {
      what: "what waits",
      said: `the oldest ${(behind / 1000).toFixed(1)} s at most at the end of a minute`,
      isFlat: behind <= WAIT_MS_MAX,
    },
    { what: "what stays current", said: `${lost} records cannot be read`, isFlat: lost === 0 },
    { what: "refused", said: `${refused} batches`, isFlat: refused === 0 },
  ];
}
