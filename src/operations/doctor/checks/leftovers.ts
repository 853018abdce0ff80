import { countText, sizeText } from "../../../cli/amounts.ts";
import { SANDBOX_CLIENT_CODE } from "../../../config.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_LEFTOVERS = readStatement(new URL("../sql/read-leftovers.sql", import.meta.url));
/** A cold start takes hours, of a large group days. */
const BACKFILL_DAYS_MAX = 7;

interface Leftovers {
  readonly openBackfills: number;
  readonly schemas: readonly { schema: string; bytes: number }[];
  readonly sandboxes: number;
}

/** What was begun and not ended, or left behind. */
export const leftovers: Check<DatabaseSubject> = {
  name: "leftovers",
  async run({ config, database: { pool } }) {
    const values = [BACKFILL_DAYS_MAX, SANDBOX_CLIENT_CODE];
    const { rows } = await pool.query<Leftovers>({ ...READ_LEFTOVERS, values });
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not tell what is left.");
    const findings: Finding[] = [];
    if (found.openBackfills > 0)
      findings.push(
        trouble("warn", "leftovers.backfills", {
          says: `${countText(found.openBackfills, "backfill is", "backfills are")} open for more than ${BACKFILL_DAYS_MAX} days.`,
          means: "An open one holds back what insights may call settled.",
          advice:
            "bellhop backfill list --state open; ask its partner to close it, or bellhop backfill abandon.",
        }),
      );
    for (const { schema, bytes } of found.schemas)
      findings.push(
        trouble("warn", "leftovers.schemas", {
          says: `The schema ${schema} (${sizeText(bytes)}) is left of a replay.`,
          means: "Nothing reads it. A replay that runs just now has one too.",
          advice: `drop schema ${schema} cascade, once nobody looks at it.`,
        }),
      );
    if (found.sandboxes > 0 && !config.sandbox)
      findings.push(
        trouble("fail", "leftovers.sandbox", {
          says: "The sandbox client of a start on a laptop may still push.",
          means: "Its secret was printed to a terminal.",
          advice: "bellhop client list, then bellhop client revoke it.",
        }),
      );
    return findings.length > 0 ? findings : [fine("leftovers", "Nothing is left behind.")];
  },
};
