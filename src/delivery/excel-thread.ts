import { parentPort, workerData } from "node:worker_threads";
import { type ExcelTable, toExcel } from "#contract/excel.ts";

const file = await toExcel(workerData as ExcelTable);
const bytes = await file.arrayBuffer();
parentPort?.postMessage(bytes, [bytes]);
