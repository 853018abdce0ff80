import { type ChildProcess, fork } from "node:child_process";

type Tasks = Readonly<Record<string, (argument: never) => unknown>>;

/** A process that performs tasks one after another, and ends with its parent. */
export class ChildTask {
  readonly #child: ChildProcess;
  #waiting: PromiseWithResolvers<unknown> | undefined;

  constructor(file: URL) {
    this.#child = fork(file, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", ({ result, error }: { result?: unknown; error?: string }) => {
      if (error === undefined) this.#waiting?.resolve(result);
      else this.#waiting?.reject(new Error(error));
    });
    this.#child.once("exit", () => this.#waiting?.reject(new Error(`${file.pathname} ended.`)));
  }

  /** Throws the task's error. */
  async call<Result>(task: string, argument: unknown): Promise<Result> {
    this.#waiting = Promise.withResolvers<unknown>();
    this.#child.send({ task, argument });
    return (await this.#waiting.promise) as Result;
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** Runs in the child: performs each task and returns its result. */
export function answerOrders(tasks: Tasks): void {
  process.on("message", ({ task, argument }: { task: string; argument: unknown }) => {
    const work = async () => await tasks[task]?.(argument as never);
    work().then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ error: error.stack }),
    );
  });
  process.on("disconnect", () => process.exit());
}
