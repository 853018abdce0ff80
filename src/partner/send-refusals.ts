import { closeSync, openSync, writeSync } from "node:fs";
import type { RefusedRecord, Resource } from "#client";
import { checkOffline, type FileRecord } from "./file-records.ts";

/** What the report shows; the file of `--rejected` has all. */
const LISTED_MAX = 20;

/** The records of a file that were refused, offline or by the service; indexes are their places in the file. */
export class Refusals {
  readonly listed: RefusedRecord[] = [];
  /** Records refused offline, and not sent. */
  keptBack = 0;
  readonly #file: number | undefined;

  /** `path`: where all of them are written, as NDJSON. */
  constructor(path: string | undefined) {
    this.#file = path === undefined ? undefined : openSync(path, "w");
  }

  /** Adds one that was rejected or quarantined. */
  add(refused: RefusedRecord): void {
    const record = refused.record as FileRecord;
    const { outcome, code, message, violations, requestId = null } = refused;
    const index = record.place;
    if (this.listed.length < LISTED_MAX) this.listed.push({ ...refused, index });
    if (this.#file === undefined) return;
    const reasons = violations.map(({ pointer, code: of, message: why }) => ({
      pointer,
      code: of,
      message: why,
    }));
    const told = { index, outcome, code, message, violations: reasons, requestId, record: record.toString() };
    writeSync(this.#file, `${JSON.stringify(told)}\n`);
  }

  /** Passes on the records that are valid by the service's rules, and keeps back the others. */
  async *keepBack(
    resource: Resource,
    records: AsyncIterable<FileRecord>,
  ): AsyncGenerator<FileRecord, void, undefined> {
    for await (const record of records) {
      const { place: index, json } = record;
      const { violations } = checkOffline(resource, json, index);
      const [first] = violations;
      if (first === undefined) {
        yield record;
        continue;
      }
      this.keptBack += 1;
      const own = violations.map((one) => ({
        ...one,
        index,
        record,
        pointer: one.pointer.replace(/^\/\d+/, ""),
      }));
      const { code, message } = first;
      this.add({ index, record, outcome: "rejected", code, message, violations: own, requestId: undefined });
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
