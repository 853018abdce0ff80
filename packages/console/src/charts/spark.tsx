import { writeMany } from "../field/format.ts";

const [WIDTH, HEIGHT] = [120, 28];

/** A sparkline, with last year's line behind it where it is known. */
export function Spark({
  now,
  before,
}: {
  now: readonly number[];
  before: readonly (number | null)[] | null;
}) {
  const highest = Math.max(1, ...now, ...(before ?? []).map((rooms) => rooms ?? 0));
  const lineOf = (values: readonly (number | null)[]) =>
    values
      .map((value, place) => {
        if (value === null) return "";
        const x = (place * WIDTH) / Math.max(1, values.length - 1);
        return `${(values[place - 1] ?? null) === null ? "M" : "L"}${x.toFixed(1)} ${(HEIGHT - 1 - (value / highest) * (HEIGHT - 2)).toFixed(1)}`;
      })
      .join("");
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`From ${writeMany(now[0] ?? 0, "room")} today to ${writeMany(now.at(-1) ?? 0, "room")}, ${highest} at most`}
    >
      {before !== null && <path className="before" d={lineOf(before)} />}
      <path d={lineOf(now)} />
    </svg>
  );
}
