import { execFile } from "node:child_process";
import { chmod, mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { mountHere } from "./mount.ts";

/** Programs of the administrator are not on everybody's path. */
const env = { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
const run = (program: string, args: readonly string[]) => promisify(execFile)(program, args, { env });
const BYTES = 4 * 1_073_741_824;
/** The file system writes what nobody synced only after so many seconds, so that nearly all of it is lost. */
const COMMIT_SECONDS = 300;

/** A file system of its own (ext4 on a loop device) that loses power: what was written and not synced is gone. */
export class LossyDisk {
  readonly directory: string;
  readonly #home: string;
  #images = 0;

  private constructor(home: string) {
    this.#home = home;
    this.directory = join(home, "disk");
  }

  /** Throws NotHere where nothing may be mounted. */
  static async mount(): Promise<LossyDisk> {
    const home = await mountHere("lossy-disk", async (directory) => {
      const made = new LossyDisk(directory);
      await writeFile(made.#image, "");
      await truncate(made.#image, BYTES);
      await run("mkfs.ext4", ["-q", made.#image]);
      await mkdir(made.directory);
      await made.#mount();
    });
    const disk = new LossyDisk(home);
    await chmod(disk.directory, 0o755);
    return disk;
  }

  /**
   * The image is copied as the device received it, and mounted in place of the old one. No process may have files open there any more:
   * what they wrote is in memory only, until the old one is unmounted.
   */
  async losePower(): Promise<void> {
    const before = this.#image;
    this.#images += 1;
    await run("cp", ["--sparse=always", "--reflink=never", before, this.#image]);
    await run("umount", [this.directory]);
    await rm(before);
    await this.#mount();
  }

  async unmount(): Promise<void> {
    await run("umount", ["--lazy", this.directory]);
    await rm(this.#home, { recursive: true });
  }

  get #image(): string {
    return join(this.#home, `image-${this.#images}`);
  }

  async #mount(): Promise<void> {
    await run("mount", ["-o", `loop,commit=${COMMIT_SECONDS}`, this.#image, this.directory]);
  }
}
