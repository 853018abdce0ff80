import { countText } from "../../../cli/amounts.ts";
import { findOverdue } from "../../../retention/find-overdue.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** A service looks once an hour at least (keep-retention.ts), and waits where another has the log for itself. */
const GRACE_MS = 3 * 3_600_000;

const ID = "retention.expired";

/** Whether what is past its term is gone. */
export const retention: Check<DatabaseSubject> = {
  name: "retention",
  async run({ database: { pool } }) {
    const client = await pool.connect();
    try {
      const { isAnyTerm, isDistributed, windows, unopened } = await findOverdue(client, GRACE_MS);
      if (!isAnyTerm) return [fine(ID, "No term is set: everything is kept for ever.")];
      if (isDistributed)
        return [
          trouble("warn", ID, {
            says: "Terms are set, and the tables are distributed: windows are not replaced on Citus.",
            means: "Nothing goes, whatever its term.",
            advice: "Take the terms back (bellhop retention unset), so that nobody relies on them.",
          }),
        ];
      const [oldest] = windows.toSorted((left, right) => left.until.localeCompare(right.until));
      if (oldest === undefined && unopened.length === 0) return [fine(ID, "What is past its term is gone.")];
      const overdue =
        oldest === undefined
          ? []
          : [
              `${countText(windows.length, "window has", "windows have")} something in ${windows.length === 1 ? "it" : "them"} that was to be gone, the oldest (${oldest.window}) ends at ${oldest.until}`,
            ];
      const without = unopened.length === 0 ? [] : [`${unopened.join(", ")} has no windows yet`];
      return [
        trouble("warn", ID, {
          says: `${[...overdue, ...without].join("; ")}.`,
          means: "What was to be kept no longer is still there, and the disk fills.",
          advice:
            "bellhop retention run, and look why no service does it: none that applies, batches of that time that are not applied, a backup, replay or erasure that never ends.",
        }),
      ];
    } finally {
      client.release();
    }
  },
};
