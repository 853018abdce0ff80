import { countText, spanText } from "../../../cli/amounts.ts";
import { microsecondsOf } from "../../../ingest/log/request-id.ts";
import { namedStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** Records that are held aside, by reason, and the oldest of each; $1 records at most are counted. */
const READ_HELD = namedStatement(
  "read-held",
  `select code, count(*)::integer as held, min(request_id::text) as oldest
  from (
    select code, request_id from bellhop.quarantine where state = 'h' order by request_id limit $1
  ) as held
  group by code
  order by held desc, code`,
);
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
