import { lazy, Suspense, useState } from "react";
import type { PlotProps } from "./plot.tsx";

type SeriesKind = "now" | "past" | "ceiling" | "bars" | "past-bars";

export interface Series {
  readonly name: string;
  readonly kind: SeriesKind;
  /** One for each place on the x axis; null: not known, a gap. */
  readonly values: readonly (number | null)[];
  /** In words; `place` is that on the x axis, for what is known more exactly than a number. */
  readonly write: (value: number, place: number) => string;
}

export interface ChartProps {
  /** What the chart shows, in a sentence. */
  readonly label: string;
  /** Of the y axis. */
  readonly unit: string;
  /** Of the x axis, where its marks do not say it themselves. */
  readonly xUnit?: string;
  /** Rising. */
  readonly x: readonly number[];
  readonly writeX: (x: number) => string;
  /** Short, for the axis. */
  readonly writeTick: (x: number) => string;
  /** Where the axis may be marked; as many as there is room for. */
  readonly ticks: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  /** The largest x stands at the left: days before arrival. */
  readonly backwards?: boolean;
  /** What is said before anything is pointed at; the newest by default. */
  readonly begin?: "oldest" | "newest";
}

/** The drawing library comes only with the first chart. */
const Plot = lazy(() => import("./plot.tsx").then(({ Plot }) => ({ default: Plot })));

/** A chart with what it says at the place of the pointer, or of the arrow keys, in words above it. */
export function Chart(props: ChartProps) {
  const { x, series, writeX, label, height = 260 } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const isFromLow = props.backwards === true || props.begin === "oldest";
  const place = pointed ?? firstKnown(series, isFromLow ? 0 : x.length - 1, isFromLow ? 1 : -1);
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
      {props.xUnit === undefined ? null : (
        <p className="chart-unit x" aria-hidden="true">
          {props.xUnit}
        </p>
      )}
    </figure>
  );
}

/** Before anything is pointed at: the first place from an end at which there is something to say. */
function firstKnown(series: readonly Series[], end: number, step: 1 | -1): number {
  const length = series[0]?.values.length ?? 0;
  for (let place = end; place >= 0 && place < length; place += step)
    if (series.some(({ kind, values }) => (kind === "now" || kind === "bars") && values[place] !== null))
      return place;
  return end;
}

/** As high as the chart will be, so that nothing jumps. */
function ChartSpace({ height, label }: { height: number; label: string }) {
  return (
    <canvas width={10} height={height} className="chart-space" aria-label={`${label}: loading`} role="img" />
  );
}
