import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { knownStatus } from "#contract/statuses.ts";
import { recordAudit } from "../identity/audit.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { InputError } from "../platform/errors/operator-error.ts";
import type { MappingForesightAnswer } from "./console-answers.ts";

const listStatement = readStatement(new URL("./sql/list-statuses.sql", import.meta.url));
/** Maps a status and increases the settings version, because books depend on it; neither changes if the mapping is unchanged. */
const mapStatement = namedStatement(
  "map-status",
  `with written as (
    insert into bellhop.status_mapping as kept (client_code, resource, status, deducts) values ($1, $2, $3, $4)
    on conflict (client_code, resource, status) do update set deducts = excluded.deducts
      where kept.deducts <> excluded.deducts
    returning client_code
  )
  insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from written
  on conflict (client_code) do update set version = kept.version + 1`,
);
/** Removes a mapping; increases the settings version if it existed. */
const unmapStatement = namedStatement(
  "unmap-status",
  `with removed as (
    delete from bellhop.status_mapping where client_code = $1 and resource = $2 and status = $3 returning client_code
  )
  insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from removed
  on conflict (client_code) do update set version = kept.version + 1`,
);

/** Resources whose records have a status (specification, section 3). */
export type StatusResource = "reservations" | "groups";

/** A status of a client code, compared exactly as sent. */
export interface ClientStatus {
  readonly clientCode: string;
  readonly resource: StatusResource;
  readonly status: string;
}

/** A status's mapping and its number of current records. */
export interface StatusMapping extends ClientStatus {
  readonly records: number;
  /** The standard status of the default mapping; null if it has none. */
  readonly canonical: string | null;
  /** Whether its rooms are on the books; those of an unmapped status are not. */
  readonly deducts: boolean;
  /** Source: the client code's mapping, the default, or none. */
  readonly by: "mapping" | "default" | "unmapped";
}

interface Row extends ClientStatus {
  readonly records: number;
  readonly deducts: boolean | null;
}

function mappingOf({ clientCode, resource, status, records, deducts }: Row): StatusMapping {
  const known = knownStatus(resource, status);
  return {
    clientCode,
    resource,
    status,
    records,
    canonical: known?.canonical ?? null,
    deducts: deducts ?? known?.deducts ?? false,
    by: deducts !== null ? "mapping" : known !== undefined ? "default" : "unmapped",
  };
}

/**
 * Statuses in use or mapped, of one client code or of all, at most `most` (undefined: all). Counts current records: about 0.3 s per
 * million.
 */
export async function listStatuses(
  pool: pg.Pool,
  clientCode: string | null,
  most?: number,
): Promise<StatusMapping[]> {
  const { rows } = await pool.query<Row>({ ...listStatement, values: [clientCode, most ?? null] });
  return rows.map(mappingOf);
}

/**
 * At most $4 current records of a status, and the nights between their first and last date, once per property. Reads the client code's
 * current records, as `list-statuses` does.
 */
const previewStatement = namedStatement(
  "foresee-status-mapping",
  `with carried as (
    select current.property_id, current.from_date, current.to_date
    from bellhop_state.current_record as current join bellhop.property as property using (property_id)
    where property.client_code = $1 and current.resource = $2 and current.status = $3
    limit $4
  )
  select (select count(*) from carried)::integer as records,
    (select count(distinct property_id) from carried)::integer as properties,
    (
      select count(*) from (
        select distinct carried.property_id, night
        from carried cross join lateral generate_series(
          from_date, least(to_date, from_date + $5::integer) - 1, interval '1 day'
        ) as night
      ) as each
    )::integer as nights`,
);
const FORESEEN_RECORDS_MAX = 10_000;
const FORESEEN_NIGHTS_MAX = 400;

/** Preview of a changed mapping. */
export async function previewMapping(on: Queryable, of: ClientStatus): Promise<MappingForesightAnswer> {
  const values = [...lettered(of), FORESEEN_RECORDS_MAX, FORESEEN_NIGHTS_MAX];
  const { rows } = await on.query<Omit<MappingForesightAnswer, "isCut">>({ ...previewStatement, values });
  const found = rows[0] ?? { records: 0, properties: 0, nights: 0 };
  return { ...found, isCut: found.records === FORESEEN_RECORDS_MAX };
}

const lettered = ({ clientCode, resource, status }: ClientStatus) => [clientCode, letterOf(resource), status];

/** Maps a status for a client code, replacing any mapping. */
export async function mapStatus(connection: Queryable, of: ClientStatus, deducts: boolean): Promise<void> {
  await connection.query({ ...mapStatement, values: [...lettered(of), deducts] });
}

/** Removes a client code's own mapping, so that the default applies; false if there was none. */
export async function unmapStatus(connection: Queryable, of: ClientStatus): Promise<boolean> {
  const { rowCount } = await connection.query({ ...unmapStatement, values: lettered(of) });
  return rowCount === 1;
}

/** Mappings of a client code: every query and applier of the client code reads them. Hotels have some tens of statuses. */
const MAPPINGS_MAX = 1_000;
const countStatement = namedStatement(
  "count-status-mappings",
  "select count(*)::integer as count from bellhop.status_mapping where client_code = $1",
);

/**
 * Maps a status, or removes its mapping if `deducts` is undefined, with the audit entry in the same transaction. False if there was no
 * mapping to remove. Throws InputError if there are too many.
 */
export function changeMapping(
  pool: pg.Pool,
  who: string,
  of: ClientStatus,
  deducts: boolean | undefined,
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    if (deducts === undefined) {
      const found = await unmapStatus(client, of);
      if (found) await recordAudit(client, { who, what: "unmap-status", detail: { ...of } });
      return found;
    }
    await mapStatus(client, of, deducts);
    const { rows } = await client.query<{ count: number }>({ ...countStatement, values: [of.clientCode] });
    if ((rows[0]?.count ?? 0) > MAPPINGS_MAX)
      throw new InputError(`${of.clientCode} has ${MAPPINGS_MAX} status mappings: remove one first.`);
    await recordAudit(client, { who, what: "map-status", detail: { ...of, deducts } });
    return true;
  });
}
