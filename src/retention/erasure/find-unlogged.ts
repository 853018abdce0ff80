import type pg from "pg";
import type { RecordIdentity } from "../../accept/strip-list.ts";
import { letterOf } from "../../contract/resource.ts";
import { STATE_SCHEMA } from "../../state/state-schema.ts";
import { VERSION_TABLES } from "../../state/version-tables.ts";
import type { Hit } from "./find-hits.ts";
import { identityText, type StandIn, tokenOf } from "./stand-ins.ts";

/**
 * Stand-ins for contents of records that only versions know any more, as retention has taken their copies out of the log: nobody can tell
 * whether they held anything personal, so each gets a token.
 */
export async function findUnlogged(
  client: pg.ClientBase,
  bucket: number,
  records: readonly { readonly identity: RecordIdentity; readonly propertyId: number }[],
  hits: readonly Hit[],
  salt: Buffer,
): Promise<StandIn[]> {
  const logged = new Set(hits.map((hit) => `${identityText(hit.identity)}\0${hit.contentHash}`));
  const standIns: StandIn[] = [];
  for (const { identity, propertyId } of records) {
    const { rows } = await client.query<{ hash: string }>(
      `select distinct encode(content_hash, 'hex') as hash
      from ${STATE_SCHEMA}.${VERSION_TABLES[letterOf(identity.resource)].table}
      where bucket = $1 and property_id = $2 and key = $3`,
      [bucket, propertyId, identity.key],
    );
    for (const { hash: before } of rows) {
      if (logged.has(`${identityText(identity)}\0${before}`)) continue;
      standIns.push({ identity, before, after: tokenOf(salt, identity, before) });
    }
  }
  return standIns;
}
