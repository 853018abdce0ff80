import { flushCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { useCompileCache } from "../compile-cache.ts";
import type { Calls } from "../platform/runtime/channel.ts";
import type { MainCalls, ThreadContext, ThreadData } from "./service-thread.ts";

const { kind, name, log: threadLog } = workerData as ThreadData;
if (parentPort === null) throw new Error("This module is the entry of a thread, not of a process.");
const port = parentPort;
useCompileCache();
const [{ Channel }, { createThreadLogger }, { begin }] = await Promise.all([
  import("../platform/runtime/channel.ts"),
  import("./service-thread.ts"),
  // Load only the modules of this kind of thread.
  kind === "apply" ? import("./apply-thread.ts") : import("./http-thread.ts"),
]);
flushCompileCache();

const own: Record<string, Calls[string]> = {};
const main = new Channel<MainCalls & { log(lines: string): void }>(port, own);
const context: ThreadContext = {
  name,
  main,
  log: createThreadLogger(threadLog, name, (lines) => main.send("log", lines)),
};
Object.assign(own, begin(context), {
  /** Closing the port lets the thread exit. */
  leave: () => void setImmediate(() => port.close()),
});
