import type { SendProgress } from "./report.ts";

export interface BarStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface BarOptions {
  /** Number of records, if known: shows a bar and the remaining time. */
  readonly total?: number | undefined;
  /** Alternatively, the share of the input that was read, 0 to 1. */
  readonly share?: (() => number | undefined) | undefined;
}

const DRAWN_MS_MIN = 100;
const BAR_CHARACTERS = 24;

export function timeText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const count = (value: number): string => value.toLocaleString("en-US");

function shareOf(settled: number, { total, share }: BarOptions): number | undefined {
  const known = total !== undefined && total > 0 ? settled / total : share?.();
  return known === undefined ? undefined : Math.min(1, known);
}

/** A line of progress: a bar and the remaining time if the share is known. */
export function shareLine(parts: readonly string[], share: number | undefined, elapsedMs: number): string {
  if (share === undefined) return parts.join("  ");
  const filled = Math.round(share * BAR_CHARACTERS);
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR_CHARACTERS - filled)} ${Math.floor(share * 100)} %`;
  const isKnown = share > 0.02 && share < 1 && elapsedMs > 500;
  const left = isKnown ? [`${timeText((elapsedMs * (1 - share)) / share)} left`] : [];
  return [bar, ...parts, ...left].join("  ");
}

/** The progress of a `send` as one line. */
export function progressLine(progress: SendProgress, options: BarOptions = {}): string {
  const { accepted, rejected, pending, elapsedMs, waiting } = progress;
  const settled = accepted + rejected;
  const parts = [`${count(accepted)} accepted`];
  if (pending > 0) parts.push(`${count(pending)} being applied`);
  if (rejected > 0) parts.push(`${count(rejected)} rejected`);
  if (elapsedMs > 500) parts.push(`${count(Math.round((settled * 1000) / elapsedMs))}/s`);
  const line = shareLine(parts, shareOf(settled, options), elapsedMs);
  if (waiting === undefined || waiting.ms < 1000) return line;
  return `${line}  waits ${timeText(waiting.ms)}: ${waiting.reason}`;
}

/**
 * Shows the progress of a `send` as one line in a terminal (default standard error). Writes nothing to a file or pipe.
 *
 * @example
 * await bellhop.reservations.send(reservations, { onProgress: progressBar() });
 */
export function progressBar(
  stream: BarStream = process.stderr,
  options: BarOptions = {},
): (progress: SendProgress) => void {
  let drawnAt = Number.NEGATIVE_INFINITY;
  return (progress) => {
    if (stream.isTTY !== true) return;
    const isOver = options.total !== undefined && progress.accepted + progress.rejected >= options.total;
    if (!isOver && progress.elapsedMs - drawnAt < DRAWN_MS_MIN) return;
    drawnAt = progress.elapsedMs;
    const line = progressLine(progress, options).slice(0, Math.max(20, (stream.columns ?? 80) - 1));
    stream.write(`\r\u001b[2K${line}`);
  };
}
