import { lazy, Suspense, useState } from "react";
import type { ChartProps, Series } from "./chart-props.ts";
import type { PlotProps } from "./plot.tsx";

/** The drawing library comes only with the first chart. */
const Plot = lazy(() => import("./plot.tsx").then(({ Plot }) => ({ default: Plot })));

/** A chart with what it says at the place of the pointer, or of the arrow keys, in words above it. */
export function Chart(props: ChartProps) {
  const { x, series, writeX, label, height = 260 } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const last = props.backwards === true ? 0 : x.length - 1;
  const place = pointed ?? lastKnown(series, last, props.backwards === true ? 1 : -1);
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
                {name} <strong>{value === null || value === undefined ? "–" : write(value)}</strong>
              </li>
            );
          })}
        </ul>
      </figcaption>
      <Suspense fallback={<ChartSpace height={height} label={label} />}>
        <Plot {...plot} />
      </Suspense>
    </figure>
  );
}

/** Before anything is pointed at: the newest place at which there is something to say. */
function lastKnown(series: readonly Series[], last: number, step: 1 | -1): number {
  const length = series[0]?.values.length ?? 0;
  for (let place = last; place >= 0 && place < length; place += step)
    if (series.some(({ kind, values }) => kind !== "past" && kind !== "ceiling" && values[place] !== null))
      return place;
  return last;
}

/** As high as the chart will be, so that nothing jumps. */
function ChartSpace({ height, label }: { readonly height: number; readonly label: string }) {
  return (
    <canvas width={10} height={height} className="chart-space" aria-label={`${label}: loading`} role="img" />
  );
}
