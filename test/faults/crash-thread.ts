/**
 * Makes one thread of the service throw what nobody catches, once a file is there. Loaded before the service by
 * `--import crash-thread.ts?thread=<name>&file=<path>`, which each of its threads loads too.
 */
import { existsSync } from "node:fs";
import { workerData } from "node:worker_threads";

const LOOK_MS = 20;

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get("file") ?? "";
if ((workerData as { name?: string } | null)?.name === searchParams.get("thread")) {
  setInterval(() => {
    if (existsSync(file)) throw new Error("a planted crash");
  }, LOOK_MS).unref();
}
