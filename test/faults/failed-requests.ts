import type { Ledger } from "./ledger.ts";

/** Where nodes are only restarted in order, nobody is to see anything but 202. */
export function failedRequests({ seen }: Ledger): string[] {
  const failed = Object.entries(seen).filter(([what]) => what !== "202");
  return failed.length === 0 ? [] : [`while nodes were restarted in order: ${JSON.stringify(failed)}`];
}
