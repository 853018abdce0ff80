import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

const ROOT = "/sys/fs/cgroup/memory";

/** A memory control group (cgroup v1): measures and limits the memory of its processes. */
export class MemoryGroup {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Undefined if unsupported or not permitted. Without `limitBytes` it only measures. */
  static make(name: string, limitBytes?: number): MemoryGroup | undefined {
    const directory = `${ROOT}/bellhop-${name}-${process.pid}`;
    try {
      mkdirSync(directory);
      const group = new MemoryGroup(directory);
      if (limitBytes !== undefined) group.#write("memory.limit_in_bytes", String(limitBytes));
      return group;
    } catch {
      if (existsSync(directory)) rmdirSync(directory);
      return undefined;
    }
  }

  get file(): string {
    return `${this.#directory}/cgroup.procs`;
  }

  add(processIds: readonly number[]): void {
    for (const id of processIds) this.#write("cgroup.procs", String(id));
  }

  /** How often its processes hit the limit, after which the kernel first reclaims page cache. */
  get refusals(): number {
    return Number(this.#read("memory.failcnt"));
  }

  /** Bytes that are not page cache and so cannot be reclaimed. */
  get residentBytes(): number {
    return Number(/^rss (\d+)/m.exec(this.#read("memory.stat"))?.[1] ?? Number.NaN);
  }

  /** Call after all its processes have ended. */
  remove(): void {
    rmdirSync(this.#directory);
  }

  #read(name: string): string {
    return readFileSync(`${this.#directory}/${name}`, "latin1").trim();
  }

  #write(name: string, text: string): void {
    writeFileSync(`${this.#directory}/${name}`, text);
  }
}
