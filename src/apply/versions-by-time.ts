import type { Version } from "../state/record-state.ts";

const NONE: readonly Version[] = [];

/**
 * The versions of one key by their source time. Nearly all keys of a transaction have one version: a map of each would
 * be a tenth of what apply leaves to the garbage collector.
 */
export class VersionsByTime {
  #time: string | undefined;
  #atTime: Version[] = [];
  #others: Map<string, Version[]> | undefined;

  /** Those of one source time, in the order in which they were added. */
  at(sourceTime: string): readonly Version[] {
    if (sourceTime === this.#time) return this.#atTime;
    return this.#others?.get(sourceTime) ?? NONE;
  }

  add(version: Version): void {
    const { sourceTime } = version;
    if (this.#time === undefined) {
      this.#time = sourceTime;
      this.#atTime = [version];
      return;
    }
    const there = sourceTime === this.#time ? this.#atTime : this.#others?.get(sourceTime);
    if (there !== undefined) there.push(version);
    else {
      this.#others ??= new Map();
      this.#others.set(sourceTime, [version]);
    }
  }

  /** Puts a version in the place of another of the same source time. */
  replace(version: Version, by: Version): void {
    const there = version.sourceTime === this.#time ? this.#atTime : this.#others?.get(version.sourceTime);
    const at = there?.indexOf(version) ?? -1;
    if (there === undefined || at < 0) throw new Error("The version to be replaced is not known.");
    there[at] = by;
  }

  all(): Version[] {
    return [...this.#atTime, ...[...(this.#others?.values() ?? [])].flat()];
  }
}
