import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { knownStatus } from "#contract/statuses.ts";
import type { MappingForesightAnswer } from "../console/answers.ts";
import { recordAudit } from "../identity/audit.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";

const listStatement = readStatement(new URL("./sql/list-statuses.sql", import.meta.url));
/**
 * Says what a status means. What is on the books hangs on it, so the version of the client code's settings rises with it;
 * neither moves where it was said already.
 */
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
/** Takes a mapping back; the version of the client code's settings rises where there was one. */
const unmapStatement = namedStatement(
  "unmap-status",
  `with removed as (
    delete from bellhop.status_mapping where client_code = $1 and resource = $2 and status = $3 returning client_code
  )
  insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from removed
  on conflict (client_code) do update set version = kept.version + 1`,
);

/** Resources whose records carry a status (specification, section 3). */
export type StatusResource = "reservations" | "groups";

/** A status of a client code, compared exactly as it is sent. */
export interface ClientStatus {
  readonly clientCode: string;
  readonly resource: StatusResource;
  readonly status: string;
}

/** What a status means to a client code, and how many current records carry it. */
export interface StatusMapping extends ClientStatus {
  readonly records: number;
  /** The canonical word of the default mapping; null where it has none. */
  readonly canonical: string | null;
  /** Whether its rooms are on the books; under an unmapped status they are not. */
  readonly deducts: boolean;
  /** Who says so: the client code's own mapping, the default one, or nobody yet. */
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

/** Every status in use or mapped, of one client code or of all. Counts the current records: some 0.3 s a million. */
export async function listStatuses(pool: pg.Pool, clientCode: string | null): Promise<StatusMapping[]> {
  const { rows } = await pool.query<Row>({ ...listStatement, values: [clientCode] });
  return rows.map(mappingOf);
}

/**
 * The current records of a status, $4 at most, and the nights between their first and last date: each once per property.
 * Reads the current records of the client code, as `list-statuses` does.
 */
const foreseeStatement = namedStatement(
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

/** What another meaning of a status would change on the books. */
export async function foreseeMapping(on: Queryable, of: ClientStatus): Promise<MappingForesightAnswer> {
  const values = [...lettered(of), FORESEEN_RECORDS_MAX, FORESEEN_NIGHTS_MAX];
  const { rows } = await on.query<Omit<MappingForesightAnswer, "isCut">>({ ...foreseeStatement, values });
  const found = rows[0] ?? { records: 0, properties: 0, nights: 0 };
  return { ...found, isCut: found.records === FORESEEN_RECORDS_MAX };
}

const lettered = ({ clientCode, resource, status }: ClientStatus) => [clientCode, letterOf(resource), status];

/** Says what a status means to a client code; it replaces what was said before. */
export async function mapStatus(connection: Queryable, of: ClientStatus, deducts: boolean): Promise<void> {
  await connection.query({ ...mapStatement, values: [...lettered(of), deducts] });
}

/** Takes a client code's own mapping back, so that the default holds again; false when there was none. */
export async function unmapStatus(connection: Queryable, of: ClientStatus): Promise<boolean> {
  const { rowCount } = await connection.query({ ...unmapStatement, values: lettered(of) });
  return rowCount === 1;
}

/**
 * Says what a status means, or takes that back where `deducts` is undefined, with the audit entry in the same transaction. False
 * where there was no mapping to take back.
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
    await recordAudit(client, { who, what: "map-status", detail: { ...of, deducts } });
    return true;
  });
}
