import type { BenchCase } from "./cases.ts";
import { ChildTask } from "./child-task.ts";
import type { FloodAnswers, FloodOrder } from "./flood.ts";
import type { Prepared, Sent } from "./load.ts";
import type { SendOrder } from "./sending.ts";

/** The parent's handle of the process of load.ts. */
export class LoadProcess {
  readonly #child = new ChildTask(new URL("./load.ts", import.meta.url));

  prepare(order: { readonly benchCase: BenchCase; readonly round: number }): Promise<Prepared> {
    return this.#child.call<Prepared>("prepare", order);
  }

  /** Throws if a response was not 202. */
  send(order: SendOrder): Promise<Sent> {
    return this.#child.call<Sent>("send", order);
  }

  flood(order: FloodOrder): Promise<FloodAnswers> {
    return this.#child.call<FloodAnswers>("flood", order);
  }

  stop(): void {
    this.#child.stop();
  }
}
