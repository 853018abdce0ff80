import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_TABLES = readStatement(new URL("../sql/read-tables.sql", import.meta.url));

interface Tables {
  readonly dead: readonly { table: string; dead: number; live: number; cleaned: string }[];
  readonly age: number;
  readonly freezeAge: number;
}

/** A small table of dead rows is read in no time; autovacuum begins with 50 and a fifth of the table. */
const DEAD_ROWS_MIN = 100_000;
/** PostgreSQL stops taking writes at two thousand million. */
const AGE_MAX = 1_500_000_000;

function ageFinding({ age, freezeAge }: Tables): Finding {
  const id = "tables.age";
  const says = `The oldest row is ${Math.round(age / 1e6)} million transactions old`;
  if (age < 1.5 * freezeAge) return fine(id, `${says}, of 2,000 million.`);
  return trouble(age > AGE_MAX ? "fail" : "warn", id, {
    says: `${says}; cleaning up by force begins at ${Math.round(freezeAge / 1e6)} million and does not come along.`,
    means: "At 2,000 million the database takes no writes any more.",
    advice:
      "End old transactions and unused replication slots (see those findings), then vacuum (freeze) the database.",
  });
}

/** Dead rows, and how near the end of transaction numbers is. */
export const tables: Check<DatabaseSubject> = {
  name: "tables",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Tables>({ ...READ_TABLES, values: [DEAD_ROWS_MIN] });
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not tell of its tables.");
    const dead = found.dead.map(({ table, dead, live, cleaned }) =>
      trouble("warn", "tables.dead-rows", {
        says: `${table} has ${dead} dead rows beside ${live} live ones, cleaned up last: ${cleaned}.`,
        means: "It is larger and slower than it has to be.",
        advice: `See the finding database.transactions, then vacuum (analyze) ${table}.`,
      }),
    );
    if (dead.length === 0) dead.push(fine("tables.dead-rows", "Dead rows are cleaned up."));
    return [...dead, ageFinding(found)];
  },
};
