import { shareLine, timeText } from "#client/progress-bar.ts";
import { printable, type Streams } from "./output.ts";

/** Shorter commands show no progress. */
const QUIET_MS = 700;
const WAIT_QUIET_MS = 300;
const TICK_MS = 100;
/** Interval of lines if standard error is not a terminal, and of redraws if it is. */
const LINE_MS = 5_000;
const DRAW_MS = 200;
/** An expired wait is shown until the next one, or for this long. */
const WAIT_OVER_MS = 1_500;

/** Shows the current step and its fraction done, 0 to 1. */
export type ShowStep = (step: string, share?: () => number | undefined) => void;

/** A step, or the whole line. */
type Step = string | (() => string);

interface Wait {
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number | undefined;
  readonly givesUpAtMs: number | undefined;
}

interface WaitTimes {
  readonly ms?: number | undefined;
  readonly givesUpInMs?: number | undefined;
}

const COLUMNS = 80;
const COLUMNS_MIN = 20;

/**
 * Shows a command's steps and waits on standard error: on a terminal one line that is redrawn, elsewhere a line for each new wait and one
 * every few seconds.
 */
export class Progress {
  readonly #streams: Streams;
  readonly #isTerminal: boolean;
  readonly #intervalMs: number;
  #prefix = "";
  #work: string | undefined;
  #beganAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #step: Step | undefined;
  #share: (() => number | undefined) | undefined;
  #stepSinceMs = 0;
  #wait: Wait | undefined;
  #drawn = "";
  #writtenAtMs: number | undefined;
  #writtenReason: string | undefined;

  constructor(streams: Streams, isTerminal: boolean) {
    this.#streams = streams;
    this.#isTerminal = isTerminal;
    this.#intervalMs = isTerminal ? DRAW_MS : LINE_MS;
  }

  /** `command` is the prefix of lines, such as `bellhop send`; `work` is shown until a step is named. */
  begin(command: string, work: string): void {
    this.#prefix = `${command}: `;
    this.#beganAtMs = performance.now();
    this.#work = work;
    this.show(work);
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Sets the current step; steps with the same `share` belong together. Nothing is shown without a step. */
  readonly show = (step: Step | undefined, share?: () => number | undefined): void => {
    const isSame = share === undefined ? step === this.#step : share === this.#share;
    if (!isSame) this.#stepSinceMs = performance.now();
    this.#step = step;
    this.#share = share;
  };

  /** Starts a wait of `ms`, if known. */
  wait(reason: string, { ms, givesUpInMs }: WaitTimes = {}): void {
    const now = performance.now();
    const sinceMs = this.#wait?.reason === reason ? this.#wait.sinceMs : now;
    const untilMs = ms === undefined ? undefined : now + ms;
    this.#wait = {
      reason,
      sinceMs,
      untilMs,
      givesUpAtMs: givesUpInMs === undefined ? undefined : now + givesUpInMs,
    };
  }

  resume(): void {
    this.#wait = undefined;
  }

  /** Ends a step without starting another. */
  stepOver(): void {
    this.show(this.#work);
  }

  /** Clears the line for other output. */
  clear(): void {
    if (this.#drawn !== "") process.stderr.write("\r\u001b[2K");
    this.#drawn = "";
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #tick(): void {
    const now = performance.now();
    if (now > (this.#wait?.untilMs ?? now) + WAIT_OVER_MS) this.#wait = undefined;
    const wait = this.#wait;
    const isFirst = this.#writtenAtMs === undefined && now - this.#beganAtMs >= QUIET_MS;
    const isNewWait =
      wait !== undefined && wait.reason !== this.#writtenReason && now - wait.sinceMs >= WAIT_QUIET_MS;
    const isDue = this.#writtenAtMs !== undefined && now - this.#writtenAtMs >= this.#intervalMs;
    if (!isFirst && !isNewWait && !isDue) return;
    const line = printable(this.#line(now));
    if (line === "") {
      this.clear();
      return;
    }
    this.#writtenAtMs = now;
    this.#writtenReason = wait?.reason;
    if (this.#isTerminal) this.#draw(line);
    else this.#streams.err(`${this.#prefix}${line}`);
  }

  #line(now: number): string {
    const elapsedMs = now - this.#stepSinceMs;
    const [step, share] = [this.#step, this.#share?.()];
    const waits = this.#wait === undefined ? "" : waitText(this.#wait, now);
    if (typeof step === "function") return `${step()}  ${waits}`.trim();
    if (waits !== "" || step === undefined) return waits;
    return shareLine([step, timeText(elapsedMs)], share, elapsedMs);
  }

  #draw(line: string): void {
    // A pseudo-terminal without a size has 0 columns.
    const shown = line.slice(0, Math.max(COLUMNS_MIN, (process.stderr.columns || COLUMNS) - 1));
    if (shown !== this.#drawn) process.stderr.write(`\r\u001b[2K${shown}`);
    this.#drawn = shown;
  }
}

function waitText({ reason, sinceMs, untilMs, givesUpAtMs }: Wait, now: number): string {
  // A wait of unknown duration shows the time elapsed.
  const ms = untilMs === undefined ? now - sinceMs : untilMs - now;
  const time = ms < 500 ? "waiting" : `waiting ${timeText(ms)}`;
  const end = givesUpAtMs === undefined ? "" : ` Gives up in ${timeText(Math.max(0, givesUpAtMs - now))}.`;
  return `${time}: ${reason}${end}`;
}
