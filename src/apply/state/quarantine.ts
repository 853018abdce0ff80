import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";

/** A record held aside, as an operator sees it. */
export interface HeldEntry {
  readonly requestId: string;
  readonly index: number;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly bucket: number;
  readonly resourceLetter: ResourceLetter;
  readonly resource: string;
  readonly key: string;
  readonly code: string;
  readonly message: string;
}

const COLUMNS = `held.request_id as "requestId", held.record_index as "index", property.client_code as "clientCode",
  property.property_code as "propertyCode", held.bucket, held.resource as "resourceLetter",
  case held.resource when 'i' then 'inventories' when 'r' then 'reservations' else 'groups' end as resource,
  held.key, held.code, held.message`;

/** The records held now, the oldest first; of one client code and property code where given. */
export async function listHeld(
  pool: pg.Pool,
  clientCode: string | null,
  propertyCode: string | null,
  limit: number,
): Promise<HeldEntry[]> {
  const { rows } = await pool.query<HeldEntry>(
    `select ${COLUMNS}
    from bellhop.quarantine as held left join bellhop.property using (property_id)
    where held.state = 'h' and ($1::text is null or property.client_code = $1)
      and ($2::text is null or property.property_code = $2)
    order by held.request_id, held.record_index limit $3`,
    [clientCode, propertyCode, limit],
  );
  return rows;
}

/** One record, if it is held now. */
export async function readHeld(
  pool: pg.Pool,
  requestId: string,
  index: number,
): Promise<HeldEntry | undefined> {
  const { rows } = await pool.query<HeldEntry>(
    `select ${COLUMNS}
    from bellhop.quarantine as held left join bellhop.property using (property_id)
    where held.request_id = $1 and held.record_index = $2 and held.state = 'h'`,
    [requestId, index],
  );
  return rows[0];
}

/** Every record of a request that is held now, in the order of the batch. */
export async function readAllHeld(pool: pg.Pool, requestId: string): Promise<HeldEntry[]> {
  const { rows } = await pool.query<HeldEntry>(
    `select ${COLUMNS}
    from bellhop.quarantine as held left join bellhop.property using (property_id)
    where held.request_id = $1 and held.state = 'h' order by held.record_index`,
    [requestId],
  );
  return rows;
}
