import type pg from "pg";
import { spanText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_TRANSACTIONS = readStatement(new URL("../sql/read-transactions.sql", import.meta.url));

interface OpenTransaction {
  readonly who: string;
  readonly program: string;
  readonly role: string;
  readonly state: string;
  readonly seconds: number;
}

/** Nothing of the service takes as long; a replay or an analyst's question may. */
const LONG_SECONDS = 300;
/** By then the tables that are written most have grown to a multiple, and every look at them with it. */
const TOO_LONG_SECONDS = 3_600;

/** Transactions that have been open for longer than this, the oldest first, 5 at most. */
export async function oldestTransactions(
  pool: pg.Pool,
  openSeconds: number,
): Promise<readonly OpenTransaction[]> {
  return (await pool.query<OpenTransaction>({ ...READ_TRANSACTIONS, values: [openSeconds] })).rows;
}

/** Transactions that hold back the cleaning up of dead rows. */
export const transactions: Check<DatabaseSubject> = {
  name: "transactions",
  async run({ database: { pool } }) {
    const id = "database.transactions";
    const open = await oldestTransactions(pool, LONG_SECONDS);
    const [oldest] = open;
    if (oldest === undefined)
      return [fine(id, `No transaction is open for more than ${spanText(LONG_SECONDS)}.`)];
    const { who, program, role, state, seconds } = oldest;
    return [
      trouble(seconds > TOO_LONG_SECONDS ? "fail" : "warn", id, {
        says: `${who} (${program} of ${role}, ${state}) has a transaction open for ${spanText(seconds)}${open.length > 1 ? ", and there are others" : ""}.`,
        means: "No row that has died since is cleaned up: tables grow, and applying gets slower.",
        advice:
          state === "prepared"
            ? "commit prepared or rollback prepared it: nobody else will."
            : "End it where it came from, or with select pg_terminate_backend(…).",
      }),
    ];
  },
};
