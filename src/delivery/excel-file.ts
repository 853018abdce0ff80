import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ExcelTable } from "#contract/excel.ts";

/** Of a file of 2,000 rows, several times. */
const HEAP_MB_MAX = 256;

/** An XLSX file, written on a thread of its own: thousands of cells take a third of a second in one piece. */
export async function excelFile(table: ExcelTable): Promise<Buffer> {
  const worker = new Worker(new URL("./excel-thread.ts", import.meta.url), {
    name: "excel",
    workerData: table,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  });
  const ended = new AbortController();
  worker.once("exit", () => ended.abort(new Error("The thread that writes an Excel file ended.")));
  try {
    const [bytes] = (await once(worker, "message", { signal: ended.signal })) as [ArrayBuffer];
    return Buffer.from(bytes);
  } finally {
    await worker.terminate();
  }
}
