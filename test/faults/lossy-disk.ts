import { execFile } from "node:child_process";
import { chmod, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { temporaryDirectory } from "../support/test-server.ts";
import { NotHere } from "./campaign-command.ts";

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
    if (process.platform !== "linux") throw new NotHere("a disk that loses power needs Linux's loop devices");
    if (process.getuid?.() !== 0) throw new NotHere("only root may mount a disk that loses power");
    const disk = new LossyDisk(await temporaryDirectory("lossy-disk"));
    try {
      await writeFile(disk.#image, "");
      await truncate(disk.#image, BYTES);
      await run("mkfs.ext4", ["-q", disk.#image]);
      await run("mkdir", [disk.directory]);
      await disk.#mount();
    } catch (error) {
      await rm(disk.#home, { recursive: true });
      const said = (error as { stderr?: string }).stderr?.trim();
      throw new NotHere(`no file system can be mounted here: ${said || (error as Error).message}`);
    }
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
