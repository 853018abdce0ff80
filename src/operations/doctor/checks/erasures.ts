import { countText } from "../../../cli/amounts.ts";
import { namedStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** Erasures, those that an hour has not finished, and those that have come since the list was exported. */
const COUNT_ERASURES = namedStatement(
  "count-erasures",
  `select count(*)::integer as all,
    (count(*) filter (where finished_at is null and started_at < clock_timestamp() - interval '1 hour'))::integer as unfinished,
    (count(*) filter (where started_at > coalesce(exported.at, '-infinity')))::integer as unexported
  from bellhop.erasure
  cross join (
    select max(occurred_at) as at from bellhop.audit_entry where what = 'export-erasures'
  ) as exported`,
);

interface Counts {
  readonly all: number;
  readonly unfinished: number;
  readonly unexported: number;
}

/** Guests who asked to be forgotten: whether all of them were, and whether a restore would know of them. */
export const erasures: Check<DatabaseSubject> = {
  name: "erasures",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Counts>(COUNT_ERASURES);
    const { all = 0, unfinished = 0, unexported = 0 } = rows[0] ?? {};
    const findings: Finding[] = [];
    if (unfinished > 0)
      findings.push(
        trouble("warn", "erasures.finished", {
          says: `${countText(unfinished, "erasure is", "erasures are")} not finished for more than an hour.`,
          means: "Somebody who asked to be forgotten may still be found.",
          advice: "bellhop erasure list, then bellhop erasure resume ERASURE_ID.",
        }),
      );
    else
      findings.push(
        fine("erasures.finished", `${countText(all, "erasure", "erasures")}, none of them cut off.`),
      );
    if (unexported > 0)
      findings.push(
        trouble("warn", "erasures.exported", {
          says: `${countText(unexported, "erasure is", "erasures are")} in no file: the list was not exported since.`,
          means:
            "No backup has the list: a restore after the loss of this database would bring those guests back.",
          advice: "bellhop erasure export FILE, and keep the file apart from the backups.",
        }),
      );
    else findings.push(fine("erasures.exported", "Every erasure has gone out with the list."));
    return findings;
  },
};
