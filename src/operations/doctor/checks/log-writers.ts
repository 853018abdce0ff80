import { countText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const COUNT_LOG_WRITERS = readStatement(new URL("../sql/count-log-writers.sql", import.meta.url));

/** Some nodes of 64 threads; each log writer costs every look of an applier an index scan a bucket. */
const READ_MAX = 500;

/** The connections by which batches were accepted, as far as appliers still read what came by them. */
export const logWriters: Check<DatabaseSubject> = {
  name: "log-writers",
  async run({ database: { pool } }) {
    const id = "lanes.read";
    const { rows } = await pool.query<{ read: number; abandoned: number }>(COUNT_LOG_WRITERS);
    const { read, abandoned } = rows[0] ?? { read: 0, abandoned: 0 };
    const says = `${countText(read, "log writer is", "log writers are")} read, ${abandoned} of sessions that are gone`;
    if (read <= READ_MAX) return [fine(id, `${says}.`)];
    return [
      trouble("warn", id, {
        says: `${says}.`,
        means:
          "Each makes every look of an applier longer. Those that ended are put away once all of them is applied.",
        advice:
          "See why nodes lose their connections (bellhop_log_writer_failures_total, their logs), and the finding apply.lag.",
      }),
    ];
  },
};
