import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { withTransaction } from "../db/transaction.ts";
import { OperatorError } from "../errors/operator-error.ts";
import { type Backfill, requireBackfill } from "./backfill.ts";
import { type Audit, isReproduced } from "./close-backfill.ts";

const countersign = readStatement(new URL("./sql/countersign-backfill.sql", import.meta.url));
const abandon = readStatement(new URL("./sql/abandon-backfill.sql", import.meta.url));

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
