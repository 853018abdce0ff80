import type pg from "pg";
import type { Certification } from "./certification.ts";
import { type EvidenceSpan, readEvidence } from "./read-evidence.ts";
import { judgeEvidence, type Report } from "./report.ts";

/** Reports are read one after another: each may hold some tens of megabytes while it is made. */
let last: Promise<unknown> = Promise.resolve();

/** The report of a certification as it stands, or stood. */
export function readReport(
  pool: pg.Pool,
  certification: Certification,
  span: EvidenceSpan = {},
): Promise<Report> {
  const report = last.then(async () => judgeEvidence(await readEvidence(pool, certification, span)));
  last = report.catch(() => undefined);
  return report;
}
