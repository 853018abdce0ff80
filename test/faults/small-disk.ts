import { execFile } from "node:child_process";
import { chmod, open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { mountHere } from "./mount.ts";

const run = promisify(execFile);
const MIB = 1_048_576;
const CHUNK = Buffer.alloc(4 * MIB);

/** A small file system of its own (tmpfs), and a ballast file by which it is filled. */
export class SmallDisk {
  readonly directory: string;
  readonly #ballast: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.#ballast = join(directory, "ballast");
  }

  /** Throws NotHere where nothing may be mounted. */
  static async mount(bytes: number): Promise<SmallDisk> {
    const directory = await mountHere("small-disk", async (at) => {
      await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=755`, "tmpfs", at]);
    });
    await chmod(directory, 0o755);
    return new SmallDisk(directory);
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  /** Writes ballast until no more than `freeBytes` are free; with 0 until the file system takes no byte more. */
  async fill(freeBytes: number): Promise<void> {
    const ballast = await open(this.#ballast, "a");
    try {
      for (;;) {
        const left = freeBytes === 0 ? CHUNK.length : (await this.freeBytes()) - freeBytes;
        if (left <= 0) return;
        await ballast.write(CHUNK, 0, Math.min(CHUNK.length, Math.ceil(left)));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      await ballast.close();
    }
  }

  /** Removes the ballast. */
  async free(): Promise<void> {
    await rm(this.#ballast, { force: true });
  }

  /** Whoever still has files open there keeps it until they end. */
  async unmount(): Promise<void> {
    await run("umount", ["--lazy", this.directory]);
    await rm(this.directory, { recursive: true });
  }
}
