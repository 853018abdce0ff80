import { percentile } from "../statistics.ts";
import type { RetentionMinute, Stretch } from "./retention-minute.ts";
import type { Flatness } from "./soak-verdict.ts";
import type { WindowEvent } from "./window-watch.ts";

/** What nobody may wait longer for because a window came or went (issue 7). */
const STALL_MS_MAX = 100;
/** More is not applied as fast as it comes: then what is seen is that, and not what windows do. */
const WAIT_MS_MAX = 10_000;
/** Beside the two looks between which a window came or went. */
const AROUND_MS = 250;
/** How much larger the database may be in the last third than in the second. */
const GROWTH_MAX = 1.1;
const STRETCH_MS = 2 * AROUND_MS + 250;

/** The longest of what was under way at some moment of each stretch of time. */
function longestIn(spans: readonly (readonly [number, number])[], of: readonly Stretch[]): number[] {
  return spans.map(([from, to]) => {
    let longest = 0;
    for (const { at, ms } of of) if (at >= from && at - ms <= to) longest = Math.max(longest, ms);
    return longest;
  });
}

/** Stretches of the same length in which no window came or went. */
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
    // On a machine that is busy there are longer ones without any window, too: then what counts is whether windows add to them.
    isFlat: longest <= Math.max(STALL_MS_MAX, elsewhere.at(-1) ?? 0),
  };
}

/** What is to be said at the end. `lost`: records that should have stayed and cannot be read. */
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
