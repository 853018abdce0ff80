import { lazy, Suspense, useState } from "react";
import { weekdayOf, writeDate, writeDay } from "../field/format.ts";
import type { ChartProps, PlotProps, Series, StackKind } from "./plot.tsx";

/** Colours of stacked bars; the last is for the remaining groups. */
export const STACK_KINDS: readonly StackKind[] = [
  "stack-0",
  "stack-1",
  "stack-2",
  "stack-3",
  "stack-4",
  "stack-rest",
];

/** Loads the drawing library with the first chart. */
const Plot = lazy(() => import("./plot.tsx").then(({ Plot }) => ({ default: Plot })));

export function Chart(props: ChartProps) {
  const { x, series, writeX, label, height = 260 } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const isFromLow = props.backwards === true || props.begin === "oldest";
  const known = isFromLow ? x.findIndex(isKnown(series)) : x.findLastIndex(isKnown(series));
  const end = isFromLow ? 0 : x.length - 1;
  const place = pointed ?? (known === -1 ? end : known);
  const at = x[place];
  const plot: PlotProps = { ...props, height, pointed, onPoint: setPointed };
  return (
    <figure className="chart">
      <figcaption className="chart-words">
        <span className="chart-at">{at === undefined ? "" : writeX(at)}</span>
        <ul>
          {series.map(({ name, kind, values, write }) => {
            const value = values[place];
            return (
              <li key={name}>
                <i className="swatch" data-kind={kind} />
                {name} <strong>{value === null || value === undefined ? "–" : write(value, place)}</strong>
              </li>
            );
          })}
        </ul>
      </figcaption>
      <p className="chart-unit" aria-hidden="true">
        {props.unit}
      </p>
      <Suspense fallback={<ChartSpace height={height} label={label} />}>
        <Plot {...plot} />
      </Suspense>
      {props.xUnit !== undefined && (
        <p className="chart-unit x" aria-hidden="true">
          {props.xUnit}
        </p>
      )}
    </figure>
  );
}

const isKnown = (series: readonly Series[]) => (_: number, place: number) =>
  series.some(
    ({ kind, values }) =>
      (kind === "now" || kind === "bars" || kind.startsWith("stack")) && values[place] !== null,
  );

function ChartSpace({ height, label }: { height: number; label: string }) {
  return (
    <canvas width={10} height={height} className="chart-space" aria-label={`${label}: loading`} role="img" />
  );
}

interface NightlyChartProps extends Pick<ChartProps, "label" | "unit" | "series" | "height"> {
  readonly nights: readonly string[];
}

/** One place per night. From two weeks on, Mondays are marked. */
export function NightlyChart({ nights, ...chart }: NightlyChartProps) {
  const night = (place: number) => nights[place] ?? "";
  return (
    <Chart
      {...chart}
      begin="oldest"
      x={nights.map((_, place) => place)}
      writeX={(place) => writeDate(night(place))}
      writeTick={(place) => writeDay(night(place))}
      ticks={nights.flatMap((date, place) => (nights.length < 14 || weekdayOf(date) === 0 ? [place] : []))}
    />
  );
}
