/**
 * Crashes one thread of the service once a file exists: by an uncaught error, by filling the heap (if the file says
 * `heap`), or by blocking while the file exists (`how=stuck`). Loaded in each thread by `--import
 * crash-thread.ts?thread=<name or main>&file=<path>`.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { workerData } from "node:worker_threads";

const LOOK_MS = 20;

/** What a file says; nothing where it is a folder. */
const wordOf = (path: string) => (statSync(path).isFile() ? readFileSync(path, "utf8") : "");

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get("file") ?? "";
if (((workerData as { name?: string } | null)?.name ?? "main") === searchParams.get("thread")) {
  setInterval(() => {
    if (!existsSync(file)) return;
    if (searchParams.get("how") === "stuck") {
      const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      while (existsSync(file)) Atomics.wait(nothing, 0, 0, LOOK_MS);
      return;
    }
    if (wordOf(file) !== "heap")
      throw Object.assign(new Error("a planted crash"), { detail: "Key (name)=(A. Guest)" });
    const held: number[][] = [];
    for (;;) held.push(new Array<number>(1_000_000).fill(0.5));
  }, LOOK_MS).unref();
}
