import { STORED_FACTS, type StoredFact } from "#contract/fact-columns.ts";
import type { Resource } from "#contract/resource.ts";

/** A view of the schema `analytics`. */
export interface AnalyticsView {
  readonly name: string;
  readonly columns: readonly ViewColumn[];
  /** What follows the columns of its select. */
  readonly from: string;
}

export interface ViewColumn {
  readonly name: string;
  readonly sql: string;
}

/** Names of the resources in tables and views of versions. */
export const STORED_NAMES: Readonly<Record<Resource, string>> = {
  inventories: "inventory",
  reservations: "reservation",
  groups: "group",
};

const OWN_COLUMNS = [
  "bucket",
  "property_id",
  "key",
  "source_time",
  "content_hash",
  "request_id",
  "record_index",
  "outcome",
  "facts_source_time",
  "change_no",
  "status",
  "from_date",
  "to_date",
];

/** Cut after the microsecond, the Z included: a cast would round 9999-12-31T23:59:59.9999999Z up. */
const timeOf = (text: string) => `left(${text}, 26)::timestamp at time zone 'UTC'`;

/** A fact of the array `fact`, in its PostgreSQL type. */
function readFact({ fact, type, isList }: StoredFact): string {
  const text = `fact[${fact}]`;
  if (isList && type === "timestamptz")
    return `(select array_agg(${timeOf("moment")} order by place)
      from unnest(bellhop.list_of(${text})::text[]) with ordinality as given_moment (moment, place))`;
  if (isList) return `bellhop.list_of(${text})::${type}[]`;
  if (type === "timestamptz") return timeOf(text);
  return type === "text" ? text : `${text}::${type}`;
}

/**
 * The versions of a resource with their facts as typed columns, an array for each fact of a list (docs/decisions/0006). A replay that has put
 * other tables in the place of the state binds these views anew (src/apply/state/state-schema.ts).
 */
export function storedVersions(resource: Resource): AnalyticsView {
  const table = `${STORED_NAMES[resource]}_version`;
  return {
    name: `stored_${table}`,
    columns: [
      ...OWN_COLUMNS.map((name) => ({ name, sql: name })),
      ...STORED_FACTS[resource].map((fact) => ({ name: fact.name, sql: readFact(fact) })),
    ],
    from: `from bellhop_state.${table}
      cross join lateral (select bellhop.facts_of(${table}.facts) as fact offset 0) as given`,
  };
}
