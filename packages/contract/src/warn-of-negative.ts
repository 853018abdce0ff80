import { integerValue, type Quantity } from "./decimal.ts";
import type { WarningList } from "./warning.ts";

/** Warns of each of the counts of an object that is below zero. */
export function warnOfNegative<Name extends string>(
  object: { readonly [name in Name]?: Quantity },
  names: readonly Name[],
  path: readonly (string | number)[],
  warnings: WarningList,
): void {
  for (const name of names) {
    const value = integerValue(object[name]);
    if (value !== undefined && value < 0)
      warnings.add("count.negative", [...path, name], `${name} is ${value}`);
  }
}
