import { countText, spanText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_WEBHOOKS = readStatement(new URL("../sql/read-webhooks.sql", import.meta.url));
const COUNTED_MAX = 10_000;
/** Deliveries are tried within a second of their time. */
const LATE_SECONDS_MAX = 300;

interface Webhooks {
  readonly endpoints: number;
  readonly paused: number;
  readonly failing: number;
  readonly dead: number;
  readonly lateSeconds: number | null;
}

/** Receivers that are not reached, and what was given up. */
export const webhooks: Check<DatabaseSubject> = {
  name: "webhooks",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Webhooks>({ ...READ_WEBHOOKS, values: [COUNTED_MAX] });
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not count its webhooks.");
    const findings: Finding[] = [];
    if (found.paused + found.failing > 0)
      findings.push(
        trouble("warn", "webhooks.receivers", {
          says: `${countText(found.paused, "endpoint is", "endpoints are")} paused and ${countText(found.failing, "fails", "fail")} for more than an hour, of ${found.endpoints}.`,
          means:
            "Their partners are not told of what happens; what they miss waits, or is dropped as docs/webhooks.md says.",
          advice: "bellhop webhook list says which and why; ask the partner, then bellhop webhook resume.",
        }),
      );
    if (found.dead > 0)
      findings.push(
        trouble("warn", "webhooks.dead-letters", {
          says: `${countText(found.dead, "message was", "messages were")} given up.`,
          means: "Their receivers have never taken them.",
          advice: "bellhop webhook dead-letters, and redrive them when the receiver is well.",
        }),
      );
    if ((found.lateSeconds ?? 0) > LATE_SECONDS_MAX)
      findings.push(
        trouble("warn", "webhooks.delivery", {
          says: `The oldest message should have been tried ${spanText(found.lateSeconds ?? 0)} ago.`,
          means: "Nobody delivers: nodes with the role apply do.",
          advice: "Start one, or see its log.",
        }),
      );
    if (findings.length > 0) return findings;
    return [fine("webhooks.receivers", `${countText(found.endpoints, "endpoint")}, none paused or failing.`)];
  },
};
