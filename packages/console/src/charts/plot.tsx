import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { writeMarks } from "../field/format.ts";

export type StackKind = `stack-${0 | 1 | 2 | 3 | 4 | "rest"}`;
type SeriesKind = "now" | "past" | "ceiling" | "bars" | "past-bars" | StackKind;

export interface Series {
  readonly name: string;
  readonly kind: SeriesKind;
  /** One value per place on the x axis; null is a gap. */
  readonly values: readonly (number | null)[];
  /** `place` finds the exact text of a rounded number. */
  readonly write: (value: number, place: number) => string;
}

export interface ChartProps {
  readonly label: string;
  readonly unit: string;
  readonly xUnit?: string;
  readonly x: readonly number[];
  readonly writeX: (x: number) => string;
  readonly writeTick: (x: number) => string;
  /** Candidates for axis marks. */
  readonly ticks: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  /** The largest x is at the left. */
  readonly backwards?: boolean;
  /** The value shown without a pointer; the newest by default. */
  readonly begin?: "oldest" | "newest";
}

export interface PlotProps extends ChartProps {
  readonly height: number;
  readonly pointed: number | null;
  readonly onPoint: (place: number | null) => void;
}

/** A canvas chart, with a slider along the x axis for screen readers and the keyboard. */
export function Plot(props: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const turn = useThemeTurn();
  const shape = JSON.stringify([props.x, props.series.map(({ name, values }) => [name, values])]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` identifies the data, `turn` the colours
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

/** Between two marks of the y axis: no room is half a room. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();
/** Room for a mark of the x axis, in pixels. */
const TICK_ROOM = 58;
const bars = uPlot.paths.bars?.({ size: [0.72, 26], radius: 0.12 });
/** Narrower than last year's bars behind them. */
const narrowBars = uPlot.paths.bars?.({ size: [0.46, 18], radius: 0.12 });
const pastBars = uPlot.paths.bars?.({ size: [0.8, 30], radius: 0.08 });

/** A horizontal line across each place, without slopes between places. */
const levels: uPlot.Series.PathBuilder = (plot, index, first, last) => {
  const stroke = new Path2D();
  const half = Math.abs(plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true)) / 2;
  for (let place = first; place <= last; place += 1) {
    const value = plot.data[index]?.[place];
    const x = plot.data[0][place];
    if (value === null || value === undefined || x === undefined) continue;
    const across = plot.valToPos(x, "x", true);
    const height = plot.valToPos(value, "y", true);
    stroke.moveTo(across - half, height);
    stroke.lineTo(across + half, height);
  }
  return { stroke };
};

const isStackKind = (kind: SeriesKind): kind is StackKind => kind.startsWith("stack");
const isStacked = ({ kind }: Series) => isStackKind(kind);

/** Background series first. Each stacked series includes those before it and is drawn behind them. */
function inDrawingOrder(series: readonly Series[]): readonly Series[] {
  let below: readonly (number | null)[] = [];
  const stack = series.filter(isStacked).map((each) => {
    const values = each.values.map((value, place) => (value === null ? null : value + (below[place] ?? 0)));
    below = values;
    return { ...each, values };
  });
  return [
    ...series.filter(({ kind }) => kind === "past-bars"),
    ...stack.toReversed(),
    ...series.filter((each) => each.kind !== "past-bars" && !isStacked(each)),
  ];
}

function plotOptions(
  props: ChartProps,
  ink: Ink,
  size: { readonly width: number; readonly height: number },
  onPoint: (place: number | null) => void,
): uPlot.Options {
  const hasBars = props.series.some((series) => series.kind === "bars" || isStacked(series));
  const hasPastBars = props.series.some(({ kind }) => kind === "past-bars");
  const margin = hasBars ? 0.6 : 0;
  return {
    ...size,
    // Right padding for half of the widest mark.
    padding: [10, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8, width: 2 } },
    scales: {
      x: {
        time: false,
        dir: props.backwards === true ? -1 : 1,
        range: (_plot, min, max) => [(min ?? 0) - margin, (max ?? 1) + margin],
      },
      y: { range: (_plot, min, max) => [Math.min(0, min ?? 0), Math.max(1, max ?? 1) * 1.06] },
    },
    axes: [
      {
        stroke: ink.muted,
        font: ink.font,
        size: 30,
        gap: 6,
        grid: { show: false },
        ticks: { stroke: ink.line, width: 1, size: 4 },
        splits: (plot, _axis, min, max) => thinOut(props, plot.width - 60, min, max),
        values: (_plot, splits) => splits.map((x) => props.writeTick(x)),
      },
      {
        stroke: ink.muted,
        font: ink.font,
        size: 48,
        gap: 6,
        grid: { stroke: ink.line, width: 1 },
        ticks: { show: false },
        space: 24,
        incrs: WHOLE_STEPS,
        values: (_plot, splits) => writeMarks(splits),
      },
    ],
    series: [{}, ...inDrawingOrder(props.series).map((series) => seriesOptions(series, ink, hasPastBars))],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}

function seriesOptions({ name, kind }: Series, ink: Ink, beforePast: boolean): uPlot.Series {
  const line = { label: name, points: { show: false } };
  const along = (paths: uPlot.Series.PathBuilder | undefined) => (paths === undefined ? {} : { paths });
  if (kind === "bars")
    return {
      ...line,
      stroke: ink.accent,
      fill: ink.accent,
      width: 0,
      ...along(beforePast ? narrowBars : bars),
    };
  if (isStackKind(kind)) return { ...line, stroke: ink[kind], fill: ink[kind], width: 0, ...along(bars) };
  if (kind === "past-bars")
    return { ...line, stroke: ink.lineStrong, fill: ink.line, width: 1, ...along(pastBars) };
  if (kind === "past") return { ...line, stroke: ink.lineStrong, width: 1.5, dash: [5, 4] };
  if (kind === "ceiling") return { ...line, stroke: ink.lineStrong, width: 1, ...along(levels) };
  return { ...line, stroke: ink.accent, width: 2, fill: ink.accentSoft };
}

function thinOut({ ticks, backwards }: ChartProps, width: number, min: number, max: number): number[] {
  const within = ticks.filter((x) => x >= min && x <= max);
  const ordered = backwards === true ? within.toSorted((a, b) => a - b) : within;
  const pixels = (x: number) => ((x - min) / Math.max(max - min, 1)) * width;
  const kept: number[] = [];
  for (const x of ordered) {
    const before = kept.at(-1);
    if (before === undefined || pixels(x) - pixels(before) >= TICK_ROOM) kept.push(x);
  }
  return kept;
}

type Ink = ReturnType<typeof readInk>;

/** The colours of the current theme, resolved for the canvas. */
function readInk(element: HTMLElement) {
  const probe = document.createElement("span");
  element.append(probe);
  const colour = (token: string) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const ink = {
    accent: colour("--accent"),
    accentSoft: colour("--accent-soft"),
    muted: colour("--text-muted"),
    line: colour("--line"),
    lineStrong: colour("--line-control"),
    "stack-0": colour("--part-1"),
    "stack-1": colour("--part-2"),
    "stack-2": colour("--part-3"),
    "stack-3": colour("--part-4"),
    "stack-4": colour("--part-5"),
    "stack-rest": colour("--line-strong"),
    font: `12px ${getComputedStyle(probe).fontFamily}`,
  };
  probe.remove();
  return ink;
}

/** Changes with the theme. */
function useThemeTurn(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const next = () => setTurn((before) => before + 1);
    const observer = new MutationObserver(next);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", next);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", next);
    };
  }, []);
  return turn;
}
