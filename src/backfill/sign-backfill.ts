import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { type Backfill, requireBackfill } from "./backfill.ts";
import { type Audit, isReproduced } from "./close-backfill.ts";

/** The operator's ($2) signature below the statement of the backfill $1, if that has the hash $3 and none yet. */
const countersign = namedStatement(
  "countersign-backfill",
  `insert into bellhop.backfill_signature (backfill_id, side, signed_by, statement_hash)
  select backfill_id, 'operator', $2, statement_hash
  from bellhop.backfill
  where backfill_id = $1 and state = 'c' and statement_hash = $3
  on conflict (backfill_id, side) do nothing`,
);
const abandon = namedStatement(
  "abandon-backfill",
  `update bellhop.backfill
  set state = 'a', ended_at = clock_timestamp(), abandoned_by = $2, abandoned_why = $3
  where backfill_id = $1 and state = 'o'`,
);

/** It cannot be signed or abandoned as it is; the message says why, for an operator. */
export class BackfillRefusal extends OperatorError {}

/**
 * The operator's signature below the statement of a closed backfill: of the text whose hash is `hash` and of no other, and only
 * where the log still says the same. Signing it again changes nothing. Throws BackfillRefusal.
 */
export async function countersignBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  hash: string,
  who: string,
  audit: Audit,
): Promise<Backfill> {
  const { backfillId, state, statementHash } = backfill;
  if (state !== "closed" || statementHash === null)
    throw new BackfillRefusal(`This backfill is ${state}: only what its partner has closed can be signed.`);
  if (statementHash !== hash.toLowerCase())
    throw new BackfillRefusal(`The statement has another hash: ${statementHash}.`);
  if (!(await isReproduced(pool, backfill)))
    throw new BackfillRefusal(
      "What is in the log gives another statement than the one that was closed with.",
    );
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...countersign, values: [backfillId, who, statementHash] });
    if (rowCount === 1) await audit(client, "sign-backfill", { backfillId, statementHash });
  });
  return requireBackfill(pool, backfillId, null);
}

/** Ends an open backfill without a statement; what it brought stays. Throws BackfillRefusal for one that is not open. */
export async function abandonBackfill(
  pool: pg.Pool,
  { backfillId }: Backfill,
  why: string | null,
  who: string,
  audit: Audit,
): Promise<Backfill> {
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...abandon, values: [backfillId, who, why] });
    if (rowCount === 0) throw new BackfillRefusal("Only an open backfill can be abandoned.");
    await audit(client, "abandon-backfill", { backfillId, why });
  });
  return requireBackfill(pool, backfillId, null);
}
