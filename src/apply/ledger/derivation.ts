import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

/**
 * The number of the rules by which the ledger is derived from records (docs/figures.md). Increase it, and the number that the first migration
 * inserts, when a rule changes: installations then replay what they hold (docs/upgrades.md).
 */
const DERIVATION = 3;

const READ = namedStatement(
  "read-ledger-derivation",
  "select value from bellhop.instance where name = 'ledger.derivation'",
);
const WRITE = namedStatement(
  "write-ledger-derivation",
  `insert into bellhop.instance as kept (name, value) values ('ledger.derivation', $1)
  on conflict (name) do update set value = excluded.value`,
);

/** The number of the rules by which the stored ledger was derived; a database without one is of the first. */
async function readDerivation(on: Queryable): Promise<number> {
  const { rows } = await on.query<{ value: string }>(READ);
  return Number(rows[0]?.value ?? 1);
}

/** Records that the ledger is derived by this version's rules. */
export async function writeDerivation(on: Queryable): Promise<void> {
  await on.query({ ...WRITE, values: [String(DERIVATION)] });
}

/** Says what to do if the stored ledger is derived by other rules; undefined if it is not. */
export async function derivationAdvice(on: Queryable): Promise<string | undefined> {
  const stored = await readDerivation(on);
  if (stored === DERIVATION) return undefined;
  return stored < DERIVATION
    ? `Figures of records received before the upgrade follow rules ${stored}, not ${DERIVATION}: run bellhop replay --swap.`
    : `Figures follow rules ${stored} of a newer version, and this one applies records by rules ${DERIVATION}: run bellhop replay --swap if it stays.`;
}
