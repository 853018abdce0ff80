import uPlot from "uplot";
import type { ChartProps, Series } from "./chart-props.ts";
import type { Ink } from "./ink.ts";

/** Room for a mark of the x axis, in pixels. */
const TICK_ROOM = 58;
const bars = uPlot.paths.bars?.({ size: [0.72, 26], radius: 0.12 });
const steps = uPlot.paths.stepped?.({ align: 1 });

/** How uPlot is to draw a chart of ours. */
export function plotOptions(
  props: ChartProps,
  ink: Ink,
  size: { readonly width: number; readonly height: number },
  onPoint: (place: number | null) => void,
): uPlot.Options {
  const hasBars = props.series.some(({ kind }) => kind === "bars");
  const margin = hasBars ? 0.6 : 0;
  return {
    ...size,
    padding: [10, 12, 0, 0],
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
        values: (_plot, splits) => splits.map((y) => (Number.isInteger(y) ? y.toLocaleString("en-GB") : "")),
      },
    ],
    series: [{}, ...props.series.map((series) => seriesOptions(series, ink))],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}

function seriesOptions({ name, kind }: Series, ink: Ink): uPlot.Series {
  const line = { label: name, points: { show: false } };
  if (kind === "bars")
    return {
      ...line,
      stroke: ink.accent,
      fill: ink.accent,
      width: 0,
      ...(bars === undefined ? {} : { paths: bars }),
    };
  if (kind === "past") return { ...line, stroke: ink.lineStrong, width: 1.5, dash: [5, 4] };
  if (kind === "ceiling")
    return { ...line, stroke: ink.lineStrong, width: 1, ...(steps === undefined ? {} : { paths: steps }) };
  return { ...line, stroke: ink.accent, width: 2, fill: ink.accentSoft };
}

/** The marks that have room, from the left; the first and the last are worth most. */
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
