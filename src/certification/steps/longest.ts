import { addDays } from "#contract/dates.ts";

/** The longest run of consecutive dates; `dates` are sorted. */
export function longestRun(dates: readonly string[]): string[] {
  let run: string[] = [];
  let longest: string[] = [];
  for (const date of dates) {
    const before = run.at(-1);
    if (before !== undefined && date === addDays(before, 1)) run.push(date);
    else run = [date];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

export const longer = <Of extends { readonly length: number }>(one: Of, other: Of): Of =>
  other.length > one.length ? other : one;
