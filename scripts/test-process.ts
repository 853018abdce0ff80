import { type ChildProcess, type ForkOptions, fork } from "node:child_process";

/** Added to the time limit of a test: a process that reports nothing for longer hangs. */
const HANGS_AFTER_MS = 60_000;
const ONE_FAILED: FileResult = {
  hasPassed: false,
  counts: { tests: 1, suites: 0, passed: 0, failed: 1, cancelled: 0, skipped: 0, todo: 0 },
  residentBytes: 0,
};

/** Node's test counts of a file. */
export type TestCounts = Readonly<
  Record<"tests" | "suites" | "passed" | "failed" | "cancelled" | "skipped" | "todo", number>
>;

export interface TestOrder {
  readonly file: string;
  /** Time limit of one test. */
  readonly timeoutMs: number;
}

/** A message of a process: part of a file's report, or its result. */
export type TestWord = { readonly text: string } | { readonly result: FileResult };

export interface FileResult {
  readonly hasPassed: boolean;
  readonly counts: TestCounts;
  /** Memory of the process after the file. */
  readonly residentBytes: number;
}

export interface EndedFile extends FileResult {
  readonly file: string;
  readonly durationMs: number;
}

/** A process that runs files one after another. */
export class TestProcess {
  readonly #child: ChildProcess;

  constructor(options: ForkOptions) {
    this.#child = fork(new URL("run-test-files.ts", import.meta.url), [], options);
    this.#child.on("error", (error) => {
      if (error.name !== "AbortError") throw error;
    });
  }

  /** Runs a file; `print` receives its report. A process that ends or exceeds the time limit counts as a failed test. */
  async run(file: string, timeoutMs: number, print: (text: string) => void): Promise<EndedFile> {
    const started = performance.now();
    const { promise, resolve: end } = Promise.withResolvers<FileResult>();
    const fail = (reason: string) => {
      print(`✖ ${file}: ${reason}\n`);
      end(ONE_FAILED);
    };
    const hangs = setTimeout(() => {
      this.#child.kill("SIGKILL");
      fail("it hangs, or has left something running");
    }, timeoutMs + HANGS_AFTER_MS);
    const hear = (word: TestWord) => {
      hangs.refresh();
      if ("text" in word) print(word.text);
      else end(word.result);
    };
    const died = (code: number | null, signal: string | null) =>
      fail(`its process ended by ${signal ?? code}`);
    this.#child.on("message", hear).once("exit", died);
    this.#child.send({ file, timeoutMs } satisfies TestOrder);
    const result = await promise;
    clearTimeout(hangs);
    this.#child.off("message", hear).off("exit", died);
    return { ...result, file, durationMs: performance.now() - started };
  }

  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
