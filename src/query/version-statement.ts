import type { ResourceLetter } from "#contract/resource.ts";
import { VERSION_TABLES } from "../apply/state/record.ts";
import { readStatement, type Statement } from "../platform/db/statement.ts";

/** Reads a statement for each resource; `{versions}` is its table of versions, whose columns are the same for all. */
export function readForEachResource(url: URL): Readonly<Record<ResourceLetter, Statement>> {
  const of = (resource: ResourceLetter): Statement => {
    const { name, text } = readStatement(url, { versions: `bellhop_state.${VERSION_TABLES[resource]}` });
    return { name: `${name}-${resource}`, text };
  };
  return { i: of("i"), r: of("r"), g: of("g") };
}
