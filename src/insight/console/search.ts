import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { listClientPage } from "../../console/client-routes.ts";
import { clientsWithin } from "../../identity/client-admin.ts";
import type { OperatorSession } from "../../identity/operator-sessions.ts";
import { isAllowed } from "../../identity/roles.ts";
import { isWithinKeys, type Scope } from "../../identity/scope.ts";
import { ofBucket, queryEachBucket } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { folded } from "../../platform/runtime/fold-text.ts";
import { ANY_REQUEST, idPrefixIn, listRequestsOfAll } from "../../query/console/requests.ts";
import type { Property, PropertyCodes } from "../../query/property.ts";
import { settingsOfClients } from "../../settings/property-settings.ts";
import type { AttentionAnswer, FoundProperty, FoundRecord, SearchAnswer } from "./answers.ts";
import { readFeedGlances } from "./feed-glance.ts";
import { countQuarantinedWithin } from "./intake.ts";

/** Same limit as a portfolio. */
const PROPERTIES_MAX = 5_000;
const OF_EACH_MAX = 6;
/** Limit if only properties are searched. */
const PROPERTIES_SHOWN_MAX = 50;

/** The first $2 properties within $1 (`Scope.keys`) by code. */
const listProperties = namedStatement(
  "list-properties-within",
  `select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
  from bellhop.property
  where ${isWithinKeys("$1")}
  order by client_code, property_code
  limit $2`,
);
/** Current reservations and groups with one of the ids $3, of each property $2 in its bucket $1. Plan: two primary key lookups each. */
const findRecords = {
  name: "find-records-by-id",
  ...ofBucket(
    5,
    ({ andBucket }) => `select t.property_id as "propertyId", t.resource, t.key
  from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
  cross join unnest('{r,g}'::"char"[]) as kind (letter)
  join bellhop_state.current_record as t
    on t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = kind.letter
      and t.key = any ($3::text[]) ${andBucket}
  limit $4`,
  ),
};

type ListedProperty = Property & PropertyCodes;

async function propertiesWithin(pool: pg.Pool, { keys }: Scope): Promise<ListedProperty[]> {
  const { rows } = await pool.query<ListedProperty>({ ...listProperties, values: [keys, PROPERTIES_MAX] });
  return rows;
}

/** Whether a property's codes, name or city contain every word. */
export function matcherOf(words: string): (of: FoundProperty) => boolean {
  const wanted = folded(words).split(" ");
  return ({ clientCode, propertyCode, name, city }) => {
    const text = folded(`${clientCode} ${propertyCode} ${name ?? ""} ${city ?? ""}`);
    return wanted.every((word) => text.includes(word));
  };
}

/** Rank, 0 first: an exact code or name, then one that starts with the text. */
function rankOf(text: string, { propertyCode, name }: FoundProperty): number {
  const titles = [folded(propertyCode), folded(name ?? "")];
  if (titles.includes(text)) return 0;
  return titles.some((title) => title.startsWith(text)) ? 1 : 2;
}

const titleOf = ({ name, propertyCode }: FoundProperty) => name ?? propertyCode;
const compareTitles = new Intl.Collator("en", { numeric: true }).compare;

async function searchProperties(
  pool: pg.Pool,
  properties: readonly ListedProperty[],
  search: string,
  limit: number,
): Promise<Pick<SearchAnswer, "properties" | "propertyTotal">> {
  const codes = [...new Set(properties.map(({ clientCode }) => clientCode))];
  const settings = await settingsOfClients(pool, codes);
  const text = folded(search.trim());
  const found = properties
    .map(({ clientCode, propertyCode }): FoundProperty => {
      const { name = null, city = null } = settings.get(clientCode)?.of(propertyCode) ?? {};
      return { clientCode, propertyCode, name, city };
    })
    .filter(matcherOf(text))
    .map((property) => ({ property, rank: rankOf(text, property) }))
    .sort(
      (one, other) => one.rank - other.rank || compareTitles(titleOf(one.property), titleOf(other.property)),
    );
  return {
    properties: found.slice(0, limit).map(({ property }) => property),
    propertyTotal: found.length,
  };
}

/** Also tries upper and lower case, because ids are often typed without regard to case. */
async function searchRecords(
  pool: pg.Pool,
  properties: readonly ListedProperty[],
  id: string,
): Promise<FoundRecord[]> {
  const ids = [...new Set([id, id.toUpperCase()])];
  const { rows } = await queryEachBucket<
    { propertyId: number; resource: ResourceLetter; key: string },
    Property
  >(pool, findRecords, properties, (some) => [
    some.map(({ bucket }) => bucket),
    some.map(({ propertyId }) => propertyId),
    ids,
    OF_EACH_MAX,
  ]);
  const codesOf = new Map(properties.map((property) => [property.propertyId, property]));
  return rows.slice(0, OF_EACH_MAX).flatMap(({ propertyId, resource, key }) => {
    const property = codesOf.get(propertyId);
    if (property === undefined) return [];
    const { clientCode, propertyCode } = property;
    return [{ clientCode, propertyCode, resource: resourceOf(resource), key }];
  });
}

async function searchClients(pool: pg.Pool, { role, scope }: OperatorSession, search: string) {
  if (!isAllowed(role, "read-clients")) return [];
  const filter = { search, clients: await clientsWithin(pool, scope) };
  const { items } = await listClientPage(pool, filter, null, OF_EACH_MAX);
  return items.map(({ clientId, name }) => ({ clientId, name }));
}

async function searchRequests(pool: pg.Pool, { scope }: OperatorSession, search: string) {
  const idPrefix = idPrefixIn(search);
  if (idPrefix === undefined) return [];
  const filter = { ...ANY_REQUEST, idPrefix };
  return (await listRequestsOfAll(pool, scope, null, filter, null, OF_EACH_MAX)).items;
}

/** Searches what the operator may see. */
export async function search(pool: pg.Pool, operator: OperatorSession, text: string): Promise<SearchAnswer> {
  const wanted = text.trim();
  const properties = await propertiesWithin(pool, operator.scope);
  const [found, records, clients, requests] = await Promise.all([
    searchProperties(pool, properties, wanted, OF_EACH_MAX),
    searchRecords(pool, properties, wanted),
    searchClients(pool, operator, wanted),
    searchRequests(pool, operator, wanted),
  ]);
  return { ...found, records, clients, requests };
}

/** Searches only properties and returns more of them; an empty text matches all. */
export async function searchAmongProperties(
  pool: pg.Pool,
  { scope }: OperatorSession,
  text: string,
): Promise<SearchAnswer> {
  const properties = await propertiesWithin(pool, scope);
  const found = await searchProperties(pool, properties, text, PROPERTIES_SHOWN_MAX);
  return { ...found, records: [], clients: [], requests: [] };
}

/** What needs attention within a scope. Every open page polls it, so it reads one row per feed. */
export async function readAttention(pool: pg.Pool, scope: Scope): Promise<AttentionAnswer> {
  const properties = await propertiesWithin(pool, scope);
  const [quarantined, glances] = await Promise.all([
    countQuarantinedWithin(pool, scope.keys),
    readFeedGlances(pool, properties),
  ]);
  const silent = glances.filter(({ feeds }) => feeds.some(({ state }) => state === "silent"));
  return { quarantined, silent: silent.length };
}
