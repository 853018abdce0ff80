import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { NotHere } from "./campaign-command.ts";

/** Where Linux's control groups of version 1 have the memory. */
const ROOT = "/sys/fs/cgroup/memory";
const NONE = "-1";
const EMPTY_MS_MAX = 10_000;

/** A control group whose memory can be limited; the kernel kills in it, outright, what wants more. */
export class MemoryLimit {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws NotHere where there is no such group to be had. */
  static async create(): Promise<MemoryLimit> {
    const limit = new MemoryLimit(join(ROOT, `bellhop-faults-${process.pid}`));
    try {
      await mkdir(limit.#directory);
      await limit.kills();
      await limit.lift();
    } catch (error) {
      await rmdir(limit.#directory).catch(() => undefined);
      throw new NotHere(
        `no control group (version 1) for memory can be made under ${ROOT}: ${(error as Error).message}`,
      );
    }
    return limit;
  }

  /** A command that runs another one in the group, as its own process. */
  get launcher(): readonly string[] {
    return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', this.#file("cgroup.procs")];
  }

  /** Takes processes out of the group again; what they have stays counted in it. */
  async exempt(pids: readonly number[]): Promise<void> {
    for (const pid of pids) await writeFile(join(ROOT, "cgroup.procs"), String(pid)).catch(() => undefined);
  }

  async usedBytes(): Promise<number> {
    return await this.#number("memory.usage_in_bytes");
  }

  /** The most that was in use at once. */
  async peakBytes(): Promise<number> {
    return await this.#number("memory.max_usage_in_bytes");
  }

  /** Answers whether that could be had: what is in use and cannot be given back stands against a lower limit. */
  async limitTo(bytes: number): Promise<boolean> {
    return await writeFile(this.#file("memory.limit_in_bytes"), String(Math.ceil(bytes))).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EBUSY") throw error;
        return false;
      },
    );
  }

  async lift(): Promise<void> {
    await writeFile(this.#file("memory.limit_in_bytes"), NONE);
  }

  /** How many processes the kernel has killed in it. */
  async kills(): Promise<number> {
    const said = await readFile(this.#file("memory.oom_control"), "utf8");
    const kills = Number(/^oom_kill (\d+)$/m.exec(said)?.[1] ?? Number.NaN);
    if (Number.isNaN(kills)) throw new Error("the kernel does not count whom it kills");
    return kills;
  }

  /** Once every process in it has ended. */
  async remove(): Promise<void> {
    await until(
      () =>
        rmdir(this.#directory).then(
          () => true,
          () => false,
        ),
      EMPTY_MS_MAX,
    );
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }

  async #number(name: string): Promise<number> {
    return Number((await readFile(this.#file(name), "utf8")).trim());
  }
}
