import { flushCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { useCompileCache } from "../compile-cache.ts";
import type { ThreadData } from "./thread-data.ts";

const { name, log: threadLog } = workerData as ThreadData;
if (parentPort === null) throw new Error("This is the beginning of a thread, not of a process.");
useCompileCache();
const { Channel } = await import("./channel.ts");
const { createThreadLogger } = await import("./thread-log.ts");
const { begin } = await import("./apply-thread.ts");
flushCompileCache();
// The log may have something to say before there is a channel; nothing is said before the first call.
const log = createThreadLogger(threadLog, name, (lines) => channel.tell("log", lines));
const channel = new Channel<{ log(lines: string): void }>(parentPort, {
  ...begin({ name, log }),
  /** Nothing holds the thread any more once its port is closed. */
  leave: () => void setImmediate(() => parentPort?.close()),
});
