import { HOTEL_KINDS, type HotelKind, LEAD_CLASSES, SEGMENTS } from "#simulator/hotel-profile.ts";
import type { Distributions } from "./distributions.ts";

const PANEL_WIDTH = 430;
const PANEL_HEIGHT = 210;
const LEFT = 44;
const TOP = 30;
const PLOT_WIDTH = PANEL_WIDTH - LEFT - 20;
const PLOT_HEIGHT = PANEL_HEIGHT - TOP - 40;
const HEAD = 54;

/** Read on white and on black: a page's own colours are not known to an image. */
const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #222; }
  .title { font-weight: 600; font-size: 13px; }
  .muted { fill: #57606a; }
  .real { fill: #8c959f; } .simulated { fill: #1f6feb; }
  .line-real { stroke: #57606a; stroke-width: 3; fill: none; } .line-simulated { stroke: #1f6feb; stroke-width: 1.6; fill: none; }
  .axis { stroke: #d0d7de; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .muted { fill: #9aa4af; } .axis { stroke: #3d444d; }
    .real { fill: #6b7682; } .simulated { fill: #4c9bff; } .line-real { stroke: #9aa4af; } .line-simulated { stroke: #4c9bff; }
  }`;

export interface Compared {
  readonly real: Distributions;
  readonly simulated: Distributions;
}

const MONTHS = ["J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"];
const percent = (share: number): string => `${Math.round(share * 100)} %`;

interface Panel {
  readonly title: string;
  /** What stands within the plot, its origin at the upper left. */
  readonly marks: string;
  /** Words below the axis, by their place. */
  readonly below: readonly (readonly [x: number, text: string])[];
  /** The greatest value of the axis on the left, as it is written. */
  readonly top: string;
}

/** Two bars a word, the real one left. */
function bars(
  title: string,
  words: readonly string[],
  real: readonly number[],
  simulated: readonly number[],
): Panel {
  const most = Math.max(...real, ...simulated, 0.01);
  const step = PLOT_WIDTH / words.length;
  const width = Math.min(18, step * 0.38);
  const bar = (value: number, x: number, kind: string) => {
    const height = (value / most) * PLOT_HEIGHT;
    return `<rect class="${kind}" x="${x.toFixed(1)}" y="${(PLOT_HEIGHT - height).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"/>`;
  };
  const marks = words.flatMap((_, at) => {
    const middle = step * (at + 0.5);
    return [
      bar(real[at] ?? 0, middle - width - 0.5, "real"),
      bar(simulated[at] ?? 0, middle + 0.5, "simulated"),
    ];
  });
  return {
    title,
    marks: marks.join(""),
    below: words.map((word, at) => [step * (at + 0.5), word]),
    top: percent(most),
  };
}

function line(points: readonly (readonly [number, number])[], kind: string): string {
  return `<polyline class="line-${kind}" points="${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")}"/>`;
}

/** The share of values up to each one, 0 to `most`. */
function cumulative(
  title: string,
  most: number,
  ticks: readonly number[],
  { real, simulated }: Record<"real" | "simulated", readonly number[]>,
): Panel {
  const curve = (values: readonly number[]): [number, number][] => {
    let at = 0;
    return Array.from({ length: 201 }, (_, step) => {
      const value = (most * step) / 200;
      while (at < values.length && (values[at] as number) <= value) at += 1;
      return [(PLOT_WIDTH * step) / 200, PLOT_HEIGHT * (1 - at / values.length)];
    });
  };
  const below = ticks.map((tick): [number, string] => [(PLOT_WIDTH * tick) / most, String(tick)]);
  return {
    title,
    marks: line(curve(real), "real") + line(curve(simulated), "simulated"),
    below,
    top: "100 %",
  };
}

function lines(title: string, real: readonly number[], simulated: readonly number[]): Panel {
  const most = Math.max(...real, ...simulated);
  const points = (values: readonly number[]) =>
    values.map((value, at): [number, number] => [
      (PLOT_WIDTH / 12) * (at + 0.5),
      PLOT_HEIGHT * (1 - value / most),
    ]);
  const below = MONTHS.map((month, at): [number, string] => [(PLOT_WIDTH / 12) * (at + 0.5), month]);
  return {
    title,
    marks: line(points(real), "real") + line(points(simulated), "simulated"),
    below,
    top: `€ ${Math.round(most)}`,
  };
}

const NIGHTS_SHOWN = 14;

function nightShares(nights: readonly number[]): number[] {
  return Array.from(
    { length: NIGHTS_SHOWN + 1 },
    (_, length) => nights.filter((one) => one === length).length / nights.length,
  );
}

function panelsOf({ real, simulated }: Compared): Panel[] {
  const segments = Object.keys(SEGMENTS).filter((code) => (real.segments[code] ?? 0) > 0);
  const classes = LEAD_CLASSES.map(
    (from, at) => `${from}${at + 1 < LEAD_CLASSES.length ? `–${(LEAD_CLASSES[at + 1] ?? 0) - 1}` : "+"}`,
  );
  const shares = (of: Distributions) => segments.map((code) => of.segments[code] ?? 0);
  const nights = Array.from({ length: NIGHTS_SHOWN + 1 }, (_, length) => String(length));
  return [
    cumulative("Days from booking to arrival, share up to", 400, [0, 100, 200, 300, 400], {
      real: real.leadDays,
      simulated: simulated.leadDays,
    }),
    bars("Nights of a stay", nights, nightShares(real.nights), nightShares(simulated.nights)),
    bars("Cancelled or not taken up, by days ahead", classes, real.failing, simulated.failing),
    bars("Segments", segments, shares(real), shares(simulated)),
    bars("Arrivals by month", MONTHS, real.arrivals, simulated.arrivals),
    lines("Average daily rate by month of arrival", real.rates, simulated.rates),
  ];
}

function panelSvg({ title, marks, below, top }: Panel, x: number, y: number): string {
  const words = below.map(
    ([at, text]) =>
      `<text class="muted" x="${at.toFixed(1)}" y="${PLOT_HEIGHT + 16}" text-anchor="middle">${text}</text>`,
  );
  return `<g transform="translate(${x + LEFT} ${y + TOP})">
<text class="title" x="0" y="-12">${title}</text>
<line class="axis" x1="0" x2="${PLOT_WIDTH}" y1="${PLOT_HEIGHT}" y2="${PLOT_HEIGHT}"/><line class="axis" x1="0" x2="${PLOT_WIDTH}" y1="0" y2="0"/>
<text class="muted" x="-6" y="8" text-anchor="end">${top}</text><text class="muted" x="-6" y="${PLOT_HEIGHT}" text-anchor="end">0</text>
${marks}
${words.join("")}
</g>`;
}

/** The real hotels' distributions beside the simulated ones', a column a kind, as an SVG. */
export function plotOf(compared: Readonly<Record<HotelKind, Compared>>, caption: string): string {
  const columns = HOTEL_KINDS.map((kind) => panelsOf(compared[kind]));
  const height = HEAD + (columns[0]?.length ?? 0) * PANEL_HEIGHT;
  const width = HOTEL_KINDS.length * PANEL_WIDTH;
  const heads = HOTEL_KINDS.map((kind, column) => {
    const { real, simulated } = compared[kind];
    const name = kind === "resort" ? "Resort hotels" : "City hotels";
    const text = `${name}: ${real.bookings.toLocaleString("en-US")} real bookings, ${simulated.bookings.toLocaleString("en-US")} simulated`;
    return `<text class="title" x="${column * PANEL_WIDTH + LEFT}" y="44">${text}</text>`;
  });
  const panels = columns.flatMap((own, column) =>
    own.map((panel, row) => panelSvg(panel, column * PANEL_WIDTH, HEAD + row * PANEL_HEIGHT)),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Distributions of real and simulated bookings">
<style>${STYLE}</style>
<rect class="real" x="${LEFT}" y="10" width="12" height="12"/><text x="${LEFT + 18}" y="20">real</text>
<rect class="simulated" x="${LEFT + 60}" y="10" width="12" height="12"/><text x="${LEFT + 78}" y="20">simulated</text>
<text class="muted" x="${LEFT + 150}" y="20">${caption}</text>
${heads.join("\n")}
${panels.join("\n")}
</svg>
`;
}
