import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { Property } from "../query/property.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import type { NightWindow, PointInTime } from "./question.ts";

const readLinks = readStatement(new URL("./sql/read-group-links.sql", import.meta.url));

interface Link {
  readonly subgroup: string;
  readonly master: string | null;
}

/** The master of each subgroup, without links that name the group itself or lead in a circle. In turns: a window may have 100,000 groups. */
export async function mastersOf(links: readonly Link[]): Promise<ReadonlyMap<string, string>> {
  const pauses = new WorkPauses();
  const named = new Map<string, string>();
  for await (const some of pauses.inParts(links))
    for (const { subgroup, master } of some) if (master !== null) named.set(subgroup, master);
  /** Groups whose masters end at a group without one. */
  const sound = new Set<string>();
  const circular = new Set<string>();
  for (const group of named.keys()) {
    if (pauses.isDue) await pauses.pause();
    const path: string[] = [];
    const place = new Map<string, number>();
    let at: string | undefined = group;
    while (at !== undefined && !sound.has(at) && !circular.has(at) && !place.has(at)) {
      place.set(at, path.length);
      path.push(at);
      at = named.get(at);
    }
    const first = at === undefined ? undefined : place.get(at);
    for (const [index, one] of path.entries())
      (first !== undefined && index >= first ? circular : sound).add(one);
  }
  for (const group of circular) named.delete(group);
  return named;
}

/** The masters of subgroups with blocks in a window; none if the property's blocks add up (setting groupHierarchy). */
export async function readGroupHierarchy(
  on: Queryable,
  property: Property,
  { first, last }: NightWindow,
  at: PointInTime,
  { groupHierarchy }: Pick<PropertySettings, "groupHierarchy">,
): Promise<ReadonlyMap<string, string>> {
  if (groupHierarchy === "separate") return new Map();
  const values = [property.bucket, property.propertyId, first, last, at.sourceUpTo, at.receivedUpTo];
  const { rows } = await on.query<Link>({ ...readLinks, values });
  return await mastersOf(rows);
}
