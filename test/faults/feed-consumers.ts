import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SeededRandom } from "../workload/seeded-random.ts";

const CONSUMER = fileURLToPath(new URL("./feed-consumer.ts", import.meta.url));
/** After it has kept something, a consumer lives so much longer at most. */
const MORE_MS_MAX = 60;
/** One in so many is killed at any moment from its birth on instead, perhaps before it has asked anything. */
const EARLY = 10;
const EARLY_MS_MAX = 300;
/** It has something to keep by then, unless something is broken. */
const FIRST_MS_MAX = 60_000;

export interface FeedConsumerOptions {
  readonly addresses: readonly string[];
  readonly token: string;
  readonly query: string;
  /** The file of what was received: one JSON line each, the consumer's. */
  readonly kept: string;
}

/** One consumer after another, each of which goes on where the one before was killed. */
export class FeedConsumers {
  readonly #options: FeedConsumerOptions;
  readonly #random: SeededRandom;
  kills = 0;
  /** Kills before which it had kept something new. */
  fruitful = 0;

  constructor(options: FeedConsumerOptions, random: SeededRandom) {
    this.#options = options;
    this.#random = random;
  }

  /** Starts one and kills it. Throws when it ends by itself. */
  async killOne(): Promise<void> {
    const before = this.#keptBytes();
    const child = this.#start(false);
    const ended = once(child, "exit");
    if (this.#random.between(1, EARLY) === 1) await delay(this.#random.between(0, EARLY_MS_MAX));
    else {
      await this.#untilMoreThan(before, child);
      await delay(this.#random.between(0, MORE_MS_MAX));
    }
    if (child.exitCode !== null) throw new Error(`A consumer ended by itself (${child.exitCode}).`);
    child.kill("SIGKILL");
    await ended;
    this.kills += 1;
    if (this.#keptBytes() > before) this.fruitful += 1;
  }

  /** Has the last one go on until the feed has nothing more to tell. */
  async finish(): Promise<void> {
    const child = this.#start(true);
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`The last consumer ended with ${code}.`);
  }

  #start(untilCaughtUp: boolean): ChildProcess {
    return spawn(process.execPath, [CONSUMER], {
      env: { FEED_CONSUMER: JSON.stringify({ ...this.#options, untilCaughtUp }) },
      stdio: ["ignore", "inherit", "inherit"],
    });
  }

  #keptBytes(): number {
    const { kept } = this.#options;
    return existsSync(kept) ? statSync(kept).size : 0;
  }

  async #untilMoreThan(bytes: number, child: ChildProcess): Promise<void> {
    const until = performance.now() + FIRST_MS_MAX;
    while (this.#keptBytes() <= bytes && child.exitCode === null) {
      if (performance.now() > until) throw new Error(`A consumer received nothing in ${FIRST_MS_MAX} ms.`);
      await delay(5);
    }
  }
}
