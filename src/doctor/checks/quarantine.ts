import { microsecondsOf } from "../../accept/request-id.ts";
import { readStatement } from "../../db/statement.ts";
import { countText, spanText } from "../amounts.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_HELD = readStatement(new URL("../sql/read-held.sql", import.meta.url));
const COUNTED_MAX = 10_000;

/** Records that wait for an operator's word. */
export const quarantine: Check<DatabaseSubject> = {
  name: "quarantine",
  async run({ database: { pool } }) {
    const id = "quarantine.held";
    const { rows } = await pool.query<{ code: string; held: number; oldest: string }>({
      ...READ_HELD,
      values: [COUNTED_MAX],
    });
    const total = rows.reduce((sum, { held }) => sum + held, 0);
    if (total === 0) return [fine(id, "No record is held aside.")];
    const oldest = Math.min(...rows.map(({ oldest }) => microsecondsOf(oldest)));
    const reasons = rows.map(({ code, held }) => `${held} ${code}`).join(", ");
    const counted =
      total === COUNTED_MAX
        ? `At least ${total} records are`
        : `${countText(total, "record is", "records are")}`;
    return [
      trouble("warn", id, {
        says: `${counted} held aside (${reasons}), the oldest for ${spanText(Date.now() / 1000 - oldest / 1e6)}.`,
        means: "They are in no figure until somebody releases them; their partners were told.",
        advice: "bellhop quarantine list, then release or discard each; docs/operations.md says which when.",
      }),
    ];
  },
};
