import { shareLine, timeText } from "#client/progress-bar.ts";
import { printable, type Streams } from "./output.ts";

/** A command that ends sooner shows nothing. */
const QUIET_MS = 700;
const WAIT_QUIET_MS = 300;
const TICK_MS = 100;
/** How often a line is written where standard error is no terminal, and redrawn where it is one. */
const LINE_MS = 5_000;
const DRAW_MS = 200;
/** A wait whose time is over is shown until the next one, or until this has passed. */
const WAIT_OVER_MS = 1_500;

/** Shows what is done from now on, and how much of it is, 0 to 1. */
export type ShowStep = (step: string, share?: () => number | undefined) => void;

/** What a command does, or the whole line about it. */
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
 * What a command does and waits for, on standard error, from its first second on: on a terminal one line that is rewritten, elsewhere
 * a line at once for each new wait and one every few seconds. Nothing of it is on standard output, also under --json.
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

  /** `command`: as `bellhop send`, which lines in a log begin with; `work`: what it does, shown until it names a step. */
  begin(command: string, work: string): void {
    this.#prefix = `${command}: `;
    this.#beganAtMs = performance.now();
    this.#work = work;
    this.show(work);
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** What is done from now on; steps with one `share`, 0 to 1, are of one work. Nothing is shown without a step. */
  readonly show = (step: Step | undefined, share?: () => number | undefined): void => {
    const isSame = share === undefined ? step === this.#step : share === this.#share;
    if (!isSame) this.#stepSinceMs = performance.now();
    this.#step = step;
    this.#share = share;
  };

  /** Waits, for `ms` where that is known. */
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

  /** The step that is over has no successor yet. */
  stepOver(): void {
    this.show(this.#work);
  }

  /** Makes place for another line. */
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
  // A wait of unknown end says how long it has taken.
  const ms = untilMs === undefined ? now - sinceMs : untilMs - now;
  const time = ms < 500 ? "waiting" : `waiting ${timeText(ms)}`;
  const end = givesUpAtMs === undefined ? "" : ` Gives up in ${timeText(Math.max(0, givesUpAtMs - now))}.`;
  return `${time}: ${reason}${end}`;
}
