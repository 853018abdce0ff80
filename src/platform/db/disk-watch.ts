import { statfs } from "node:fs/promises";
import { Repeat } from "../runtime/repeat.ts";
import type { Database } from "./open-database.ts";

/** Free bytes of a directory's file system for ordinary processes. */
export async function freeDiskBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Of the free space below which nothing is accepted, applying and retention leave this to PostgreSQL's write-ahead log and checkpoints. */
export const LEFT_FREE = 0.5;

/** Bytes that retention may write under the embedded database; without bounds where nobody watches. */
export async function roomOnDisk(
  { dataDirectory }: Pick<Database, "dataDirectory">,
  minFreeBytes: number,
): Promise<number> {
  if (dataDirectory === undefined || minFreeBytes === 0) return Number.POSITIVE_INFINITY;
  return (await freeDiskBytes(dataDirectory)) - minFreeBytes * LEFT_FREE;
}

const LOOK_MS = 1_000;

/**
 * Watches the free space under the embedded database. PostgreSQL panics when its write-ahead log cannot be written, so
 * batches are refused before that.
 */
export class DiskWatch {
  /** The reason for refusing batches; undefined if there is room. */
  blocked: string | undefined;
  readonly #repeat: Repeat | undefined;

  constructor(directory: string | undefined, minFreeBytes: number) {
    if (directory === undefined || minFreeBytes === 0) return;
    const look = async () => {
      const bytes = await freeDiskBytes(directory);
      this.blocked = bytes < minFreeBytes ? "The disk is almost full." : undefined;
    };
    const failed = () => {
      this.blocked = "The free disk space cannot be read.";
    };
    this.#repeat = new Repeat(look, LOOK_MS, failed, 0);
  }

  async stop(): Promise<void> {
    await this.#repeat?.stop();
  }
}
