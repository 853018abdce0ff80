import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { FloodAnswers, FloodOrder } from "./flood.ts";
import type { LoadOrder, Prepared, Sent } from "./load.ts";
import type { SendOrder } from "./sending.ts";

/** The process of load.ts, as its parent sees it. */
export class LoadProcess {
  readonly #child: ChildProcess;
  #waiting: PromiseWithResolvers<unknown> | undefined;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("./load.ts", import.meta.url)), { stdio: "inherit" });
    this.#child.on("message", ({ result, error }: { result?: unknown; error?: string }) => {
      if (error === undefined) this.#waiting?.resolve(result);
      else this.#waiting?.reject(new Error(error));
    });
    this.#child.once("exit", () => this.#waiting?.reject(new Error("The load process ended.")));
  }

  async prepare(order: Omit<Extract<LoadOrder, { kind: "prepare" }>, "kind">): Promise<Prepared> {
    return (await this.#order({ kind: "prepare", ...order })) as Prepared;
  }

  /** Throws when any answer was other than the target says. */
  async send(order: SendOrder): Promise<Sent> {
    return (await this.#order({ kind: "send", ...order })) as Sent;
  }

  async flood(order: FloodOrder): Promise<FloodAnswers> {
    return (await this.#order({ kind: "flood", ...order })) as FloodAnswers;
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  async #order(order: LoadOrder): Promise<unknown> {
    this.#waiting = Promise.withResolvers<unknown>();
    this.#child.send(order);
    return await this.#waiting.promise;
  }
}
