import { readStatement } from "../../db/statement.ts";
import { countText } from "../amounts.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const COUNT_LANES = readStatement(new URL("../sql/count-lanes.sql", import.meta.url));

/** Some nodes of 64 threads; each lane costs every look of an applier an index scan a bucket. */
const READ_MAX = 500;

/** The connections by which batches were accepted, as far as appliers still read what came by them. */
export const lanes: Check<DatabaseSubject> = {
  name: "lanes",
  async run({ database: { pool } }) {
    const id = "lanes.read";
    const { rows } = await pool.query<{ read: number; abandoned: number }>(COUNT_LANES);
    const { read, abandoned } = rows[0] ?? { read: 0, abandoned: 0 };
    const says = `${countText(read, "lane is", "lanes are")} read, ${abandoned} of sessions that are gone`;
    if (read <= READ_MAX) return [fine(id, `${says}.`)];
    return [
      trouble("warn", id, {
        says: `${says}.`,
        means:
          "Each makes every look of an applier longer. Those that ended are put away once all of them is applied.",
        advice:
          "See why nodes lose their connections (bellhop_lane_failures_total, their logs), and the finding apply.lag.",
      }),
    ];
  },
};
