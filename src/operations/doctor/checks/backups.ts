import { spanText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_BACKUPS = readStatement(new URL("../sql/read-backups.sql", import.meta.url));

/** A week of batches is about what partners' senders can be asked to send again; who backs up each night has missed several. */
const SECONDS_MAX = 7 * 86_400;

interface Backups {
  readonly takenSeconds: number | null;
  readonly madeSeconds: number;
  readonly archivedSeconds: number | null;
}

/** Whether there is a backup of this database that is not old. */
export const backups: Check<DatabaseSubject> = {
  name: "backups",
  async run({ database: { pool } }) {
    const id = "backups.taken";
    const [row] = (await pool.query<Backups>(READ_BACKUPS)).rows;
    const { takenSeconds = null, madeSeconds = 0, archivedSeconds = null } = row ?? {};
    if (archivedSeconds !== null && archivedSeconds < SECONDS_MAX)
      return [fine(id, `The server archives its write-ahead log, last ${spanText(archivedSeconds)} ago.`)];
    const says =
      takenSeconds === null
        ? `No backup of this database has been taken since it was made, ${spanText(madeSeconds)} ago.`
        : `The last backup was taken ${spanText(takenSeconds)} ago.`;
    if ((takenSeconds ?? madeSeconds) < SECONDS_MAX) return [fine(id, says)];
    return [
      trouble("warn", id, {
        says,
        means: "With the database all is lost that was accepted since.",
        advice:
          "bellhop backup each night to another machine, and a drill each month (docs/backup.md). What other tools back up is not known here.",
      }),
    ];
  },
};
