import type pg from "pg";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import { SHORT } from "./answer-bounds.ts";
import type { LeaseRow } from "./leases-of-workers.ts";
import type { Around } from "./sharing.ts";

const lookAroundStatement = readStatement(new URL("./sql/look-around.sql", import.meta.url));

const LEASES = "select bucket, epoch, owner, backend_pid, backend_start from bellhop.bucket_lease";
const aroundLeases = {
  name: "look-around-leases",
  text: lookAroundStatement.text.replace(
    LEASES,
    `select * from json_to_recordset($2::json) as lease (
      bucket smallint, epoch bigint, owner text, backend_pid integer, backend_start timestamptz
    )`,
  ),
};

/**
 * What an applier sees of the others. On Citus the leases are read first (`readLeases`), from the workers, and then compared with
 * the sessions of the coordinator: in one statement Citus might ask a worker who its sessions are. A lease that has changed in
 * between has another epoch, at which nobody takes it.
 */
export async function lookAround(
  client: pg.ClientBase,
  silenceSecondsMax: number,
  readLeases: () => Promise<readonly LeaseRow[]>,
): Promise<Around> {
  if (!(await isDistributed(client))) return around(client, lookAroundStatement, [silenceSecondsMax]);
  return around(client, aroundLeases, [silenceSecondsMax, JSON.stringify(await readLeases())]);
}

async function around(
  client: pg.ClientBase,
  statement: { readonly name: string; readonly text: string },
  values: unknown[],
): Promise<Around> {
  const { rows } = await client.query<Around>({ ...statement, ...SHORT, values });
  if (rows[0] === undefined) throw new Error("A look around found nothing at all.");
  return rows[0];
}
