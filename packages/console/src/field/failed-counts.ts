import type { RequestCounts } from "../contract.ts";

/** Records that came to nothing, or not yet: what an operator looks for first. */
export function failedOf({ quarantined, discarded, rejected }: RequestCounts): number {
  return quarantined + discarded + rejected;
}

/** Where in the record a pointer into its batch points: `/3/status` of record 3 is `/status`. Undefined: elsewhere. */
export function pointerWithin(pointer: string, index: number): string | undefined {
  const beginning = `/${index}`;
  if (pointer === beginning) return "";
  return pointer.startsWith(`${beginning}/`) ? pointer.slice(beginning.length) : undefined;
}
