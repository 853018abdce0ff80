import type { CaseResult } from "./report.ts";
import { spreadOf } from "./statistics.ts";

const WIDTH = 860;
const LABEL_WIDTH = 190;
const VALUE_WIDTH = 90;
const BAR_HEIGHT = 15;
const ROW_HEIGHT = 20;
const TITLE_HEIGHT = 34;

/** Legible on light and dark backgrounds, because an image cannot know the page's theme. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #222; }
  .title { font-weight: 600; font-size: 13px; }
  .muted { fill: #666; }
  .own { fill: #1f6feb; } .peer { fill: #b0692a; } .limit { fill: #9aa4af; }
  .range { stroke: #222; stroke-width: 1.2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .muted { fill: #9aa4af; } .range { stroke: #e6edf3; }
    .own { fill: #4c9bff; } .peer { fill: #d8914c; } .limit { fill: #6b7682; }
  }`;

const LABELS: Readonly<Record<string, string>> = {
  bellhop: "bellhop, accepted",
  "bellhop-accept": "bellhop, apply off",
};

interface Bar {
  readonly label: string;
  readonly kind: "own" | "peer" | "limit";
  readonly values: readonly number[];
}

function barsOf({ rounds }: CaseResult): Bar[] {
  const names = Object.keys(rounds[0]?.contestants ?? {});
  const bars = names.flatMap((name): Bar[] => {
    const all = rounds.flatMap(({ contestants }) => contestants[name] ?? []);
    const acceptedBar: Bar = {
      label: LABELS[name] ?? name,
      kind: name.startsWith("bellhop") ? "own" : name.endsWith("-limit") ? "limit" : "peer",
      values: all.map(({ acceptedPerSecond }) => acceptedPerSecond),
    };
    if (name !== "bellhop") return [acceptedBar];
    const appliedBar: Bar = {
      label: "bellhop, applied",
      kind: "own",
      values: all.map((each) => each.appliedPerSecond),
    };
    return [appliedBar, acceptedBar];
  });
  const copies = rounds.flatMap(({ copy }) => (copy === undefined ? [] : [copy.recordsPerSecond]));
  if (copies.length > 0) bars.push({ label: "copy-limit", kind: "limit", values: copies });
  return bars.sort((left, right) => spreadOf(right.values).median - spreadOf(left.values).median);
}

function barSvg({ label, kind, values }: Bar, y: number, most: number): string {
  const { median, min, max } = spreadOf(values);
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / most;
  const x = (value: number) => (LABEL_WIDTH + value * scale).toFixed(1);
  const middle = y + BAR_HEIGHT / 2;
  const shown = Math.round(median).toLocaleString("en-US");
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${y + 12}" text-anchor="end">${label}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${y}" width="${(median * scale).toFixed(1)}" height="${BAR_HEIGHT}"/>`,
    `<line class="range" x1="${x(min)}" x2="${x(max)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${(LABEL_WIDTH + max * scale + 6).toFixed(1)}" y="${y + 12}">${shown}</text>`,
  ].join("\n");
}

/** Records per second of every case as an SVG: bars are medians of the rounds, lines span minimum to maximum. */
export function plotOf(results: readonly CaseResult[], caption: string): string {
  const parts: string[] = [];
  let y = 28;
  for (const result of results) {
    if (result.benchCase.mode !== "full") continue;
    const bars = barsOf(result);
    const most = Math.max(...bars.flatMap(({ values }) => values));
    parts.push(`<text class="title" x="8" y="${y + 20}">${result.benchCase.name}, records a second</text>`);
    y += TITLE_HEIGHT;
    for (const bar of bars) {
      parts.push(barSvg(bar, y, most));
      y += ROW_HEIGHT;
    }
  }
  const size = `width="${WIDTH}" height="${y + 12}" viewBox="0 0 ${WIDTH} ${y + 12}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="Records a second by case">
<style>${STYLE}</style>
<text class="muted" x="8" y="18">${caption.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>
${parts.join("\n")}
</svg>
`;
}
