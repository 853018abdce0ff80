import { type KeyboardEvent, useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartProps } from "./chart-props.ts";
import { readInk, useThemeTurn } from "./ink.ts";
import { inDrawingOrder, plotOptions } from "./plot-options.ts";

export interface PlotProps extends ChartProps {
  readonly height: number;
  readonly pointed: number | null;
  readonly onPoint: (place: number | null) => void;
}

/** The drawing. To a screen reader and the keyboard it is a slider along its x axis that says what is at each place. */
export function Plot(props: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const turn = useThemeTurn();
  const shape = JSON.stringify([props.x, props.series.map(({ name, values }) => [name, values])]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for what is drawn, `turn` for its colours
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const size = () => ({ width: element.clientWidth, height: props.height });
    const drawnSeries = inDrawingOrder(props.series);
    const data: uPlot.AlignedData = [[...props.x], ...drawnSeries.map(({ values }) => [...values])];
    const drawn = new uPlot(
      plotOptions(props, readInk(element), size(), (place) => props.onPoint(place)),
      data,
      element,
    );
    plot.current = drawn;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== drawn.width) drawn.setSize(size());
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.destroy();
    };
  }, [shape, turn, props.height]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextPlace(event.key, props);
    if (next === undefined || plot.current === undefined) return;
    event.preventDefault();
    const at = props.x[next] ?? 0;
    plot.current.setCursor({ left: plot.current.valToPos(at, "x"), top: 10 });
  };
  return (
    <div
      ref={frame}
      className="plot"
      role="slider"
      tabIndex={0}
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={Math.max(props.x.length - 1, 0)}
      aria-valuenow={props.pointed ?? 0}
      aria-valuetext={wordsAt(props, props.pointed ?? 0)}
      onKeyDown={onKeyDown}
    />
  );
}

function nextPlace(key: string, { pointed, x, backwards }: PlotProps): number | undefined {
  const forwards = backwards === true ? -1 : 1;
  const last = x.length - 1;
  const here = pointed ?? (forwards === 1 ? last : 0);
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: here + forwards,
    ArrowLeft: here - forwards,
    ArrowUp: here + forwards,
    ArrowDown: here - forwards,
    PageDown: here - forwards * 7,
    PageUp: here + forwards * 7,
    Home: forwards === 1 ? 0 : last,
    End: forwards === 1 ? last : 0,
  };
  const next = steps[key];
  return next === undefined ? undefined : Math.min(Math.max(next, 0), last);
}

function wordsAt({ x, writeX, series }: PlotProps, place: number): string {
  const at = x[place];
  if (at === undefined) return "nothing";
  const values = series.map(({ name, values, write }) => {
    const value = values[place];
    return `${name} ${value === null || value === undefined ? "not known" : write(value, place)}`;
  });
  return `${writeX(at)}: ${values.join(", ")}`;
}
