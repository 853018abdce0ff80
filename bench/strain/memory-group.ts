import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

const ROOT = "/sys/fs/cgroup/memory";

/** A control group of the kernel (cgroup v1, memory): what its processes take together, and the most they may. */
export class MemoryGroup {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Undefined where this machine has none or does not let us. `limitBytes` undefined: it is only counted. */
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

  /** How often its processes wanted more than they may; the kernel then takes pages of files away first. */
  get refusals(): number {
    return Number(this.#read("memory.failcnt"));
  }

  /** Bytes of pages that are no cache of files: what cannot be taken away. */
  get residentBytes(): number {
    return Number(/^rss (\d+)/m.exec(this.#read("memory.stat"))?.[1] ?? Number.NaN);
  }

  /** Once all its processes are gone. */
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
