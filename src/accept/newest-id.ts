import type pg from "pg";
import { sqlState } from "../db/sql-state.ts";
import { readStatement } from "../db/statement.ts";
import { findHomes, type Home, WORKERS_ANSWER_MS_MAX } from "../db/workers.ts";

const readNewestId = readStatement(new URL("./sql/read-newest-id.sql", import.meta.url));
const readNewestIdOfBuckets = readStatement(new URL("./sql/read-newest-id-of-buckets.sql", import.meta.url));

interface NewestRow {
  readonly request_id: string;
}

/**
 * The newest id of the log on Citus, in the transaction that a lane is born in; null of an empty log. Where a worker does not
 * answer it is that of the others: a lane ends with each flush that such a worker had a part of, and if none were born until it
 * answers, nothing would be accepted for anybody. The lane's ids are then above those of this process and the coordinator's clock all
 * the same, and below one of another process only if that clock was set back as well.
 */
export async function newestId(client: pg.ClientBase): Promise<string | null> {
  const all = await answered(() => client.query<NewestRow>(readNewestId), client);
  if (!(all instanceof Error)) return newestOf(all.rows);
  const { rows: homes } = await client.query<Home>(findHomes);
  const found: NewestRow[] = [];
  let silent = 0;
  for (const { buckets } of homes) {
    const one = await answered(
      () => client.query<NewestRow>({ ...readNewestIdOfBuckets, values: [buckets] }),
      client,
    );
    if (one instanceof Error) silent += 1;
    else found.push(...one.rows);
  }
  if (silent === homes.length) throw all;
  return newestOf(found);
}

function newestOf(rows: readonly NewestRow[]): string | null {
  const ids = rows.map(({ request_id }) => request_id).sort();
  return ids.at(-1) ?? null;
}

/** What was asked of workers, or the error that it was answered with; the transaction goes on. Throws where the session is lost. */
async function answered<Result>(ask: () => Promise<Result>, client: pg.ClientBase): Promise<Result | Error> {
  await client.query("savepoint asked");
  await client.query(`set local statement_timeout = ${WORKERS_ANSWER_MS_MAX}`);
  const answer = await ask().catch((error: unknown) => {
    if (error instanceof Error && sqlState(error) !== undefined) return error;
    throw error;
  });
  await client.query("rollback to savepoint asked");
  return answer;
}
