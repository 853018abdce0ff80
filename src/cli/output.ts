import { createInterface } from "node:readline";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { escapeInvisible } from "../platform/runtime/visible-text.ts";

/** Output streams of a command. Lines have no newline. */
export interface Streams {
  out(line: string): void;
  err(line: string): void;
  /** Asks at the terminal; undefined if there is none. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

export const SHELL: Streams = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Returns an empty string if input ends. */
export function askAtTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    terminal.once("close", () => resolve(""));
    terminal.question(question, (answer) => {
      resolve(answer);
      terminal.close();
    });
  });
}

/** A command's output: one JSON object or text; messages and progress go to standard error. */
export class Output {
  readonly #streams: Streams;
  readonly #isJson: boolean;
  readonly #clear: () => void;

  /** `clear`: removes the progress line from the terminal. */
  constructor(streams: Streams, isJson: boolean, clear: () => void) {
    this.#streams = streams;
    this.#isJson = isJson;
    this.#clear = clear;
  }

  /** The result: `data` with --json, otherwise `lines`. */
  result(data: unknown, lines: string | readonly string[]): void {
    if (this.#isJson) this.line(jsonLine(data));
    else for (const line of [lines].flat()) this.line(line);
  }

  line(line: string): void {
    this.#clear();
    this.#streams.out(line);
  }

  /** A message on standard error. */
  message(line: string): void {
    this.#clear();
    this.#streams.err(line);
  }

  /** Throws OperatorError if the user does not confirm. Without a terminal, does not ask. */
  async confirm(question: string): Promise<void> {
    if (this.#streams.ask === undefined) return;
    this.#clear();
    const answer = await this.#streams.ask(`${question} This cannot be undone. Continue? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError("Not confirmed: nothing was changed.");
  }

  /** Reports a failure and returns the exit code. */
  failure(message: string): 1 {
    this.message(printableLines(`bellhop: ${message}`));
    return 1;
  }
}

/** The exit code of a process ended by SIGPIPE, which Node ignores. */
const BROKEN_PIPE = 141;

/** Exits when standard output fails: its reader is gone (`bellhop watch --changes | head`), or the disk of its file is full. */
export function exitOnFailedOutput(): void {
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(BROKEN_PIPE);
    SHELL.err(`bellhop: Standard output cannot be written (${code}).`);
    process.exit(1);
  });
}

/** A table with columns as wide as their widest cell; `empty` if there are no rows. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  empty?: string,
): string[] {
  if (rows.length === 0 && empty !== undefined) return [empty];
  const all = [headings, ...rows].map((row) => row.map(printable));
  // A function takes fewer arguments than a table may have rows.
  const widths = headings.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Columns by heading: a field of the item, or a function. */
export type Columns<Item> = Readonly<Record<string, keyof Item | ((item: Item) => unknown)>>;

export function itemTable<Item extends object>(
  columns: Columns<Item>,
  items: readonly Item[],
  empty?: string,
): string[] {
  const shown = Object.values(columns);
  const rows = items.map((item) =>
    shown.map((column) => cellOf(typeof column === "function" ? column(item) : item[column])),
  );
  return table(Object.keys(columns), rows, empty);
}

function cellOf(value: unknown): string {
  if (value instanceof Date) return moment(value);
  return value === null ? "-" : String(value);
}

/** Fields with snake_case names, as elsewhere in JSON output. */
export function snakeCase(fields: object): Record<string, unknown> {
  const nameOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [nameOf(name), value]));
}

export type Field = readonly [name: string, value: string];

/** Named values, one per line, aligned. */
export function fields(all: readonly Field[]): string[] {
  const width = Math.max(...all.map(([name]) => name.length));
  return all.map(([name, value]) => `  ${name.padEnd(width)}  ${printable(value)}`.trimEnd());
}

/** A UTC time to the second; a dash for null. */
export function moment(at: Date | string | null): string {
  if (at === null) return "-";
  return `${(typeof at === "string" ? at : at.toISOString()).slice(0, 19)}Z`;
}

/** A number with thousands separators. */
export function figure(value: number): string {
  return value.toLocaleString("en-US");
}

/** Codes and names must not move a terminal's cursor or change its colours. */
export const printable = escapeInvisible;

/** `printable`, but for line breaks. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** JSON in one line. Outside of strings it has nothing to escape, and within them the escapes are JSON's. */
export const jsonLine = (value: unknown): string => printable(JSON.stringify(value));
