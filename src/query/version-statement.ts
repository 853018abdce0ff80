import type { ResourceLetter } from "#contract/resource.ts";
import { VERSION_TABLES } from "../apply/state/record.ts";
import type { Statement } from "../platform/db/statement.ts";

/** The statement for each resource: files are written for reservations, and the version tables have the same columns. */
export function forEachResource(statement: Statement): Readonly<Record<ResourceLetter, Statement>> {
  const of = (resource: ResourceLetter): Statement => ({
    name: `${statement.name}-${resource}`,
    text: statement.text.replaceAll(
      `bellhop_state.${VERSION_TABLES.r}`,
      `bellhop_state.${VERSION_TABLES[resource]}`,
    ),
  });
  return { i: of("i"), r: of("r"), g: of("g") };
}
