import type { Config } from "../../config.ts";
import { askOthers } from "../../platform/db/dialect.ts";
import type { Database } from "../../platform/db/open-database.ts";
import type { Statement } from "../../platform/db/statement.ts";

/** `warning` works today and should be changed; `error` does not work, or puts accepted or secret data at risk. */
export type Severity = "ok" | "warning" | "error";

export interface Finding {
  /** `area.thing`, such as `database.durability`: stable, so that programs may go by it. */
  readonly id: string;
  readonly severity: Severity;
  /** What is so, with its figures; one sentence. */
  readonly says: string;
  /** What follows from it, unless it is ok. */
  readonly means?: string;
  /** What to do about it, unless it is ok. */
  readonly advice?: string;
}

export function ok(id: string, says: string): Finding {
  return { id, severity: "ok", says };
}

export function warning(id: string, says: string, means: string, advice: string): Finding {
  return { id, severity: "warning", says, means, advice };
}

export function error(id: string, says: string, means: string, advice: string): Finding {
  return { id, severity: "error", says, means, advice };
}

/** What is wrong, or that nothing is. */
export function troublesOr(fine: Finding, troubles: Iterable<Finding>): readonly Finding[] {
  const found = [...troubles];
  return found.length > 0 ? found : [fine];
}

export function worstOf(findings: readonly Finding[]): Severity {
  const has = (severity: Severity) => findings.some((finding) => finding.severity === severity);
  return has("error") ? "error" : has("warning") ? "warning" : "ok";
}

/** What checks of the database read. They change nothing, and each statement's time is bounded. */
export interface DatabaseSubject {
  readonly config: Config;
  readonly database: Database;
}

type Findings = Finding | Iterable<Finding>;
type AskedStatement = Statement & { readonly values?: unknown[] };

/** A check changes nothing; an error that it throws becomes a finding of its own (examine.ts). */
export interface Check<Subject = DatabaseSubject> {
  /** The area of its findings' ids. */
  readonly name: string;
  run(subject: Subject): Promise<Findings> | Findings;
}

/**
 * What `judge` finds in the rows that a statement answers at every server of the database: that of the session, and on Citus its
 * workers, which the findings name.
 */
export async function findOfServers<Row extends object>(
  { database: { pool } }: DatabaseSubject,
  statement: AskedStatement,
  judge: (rows: readonly Row[], worker: string | undefined) => Findings,
): Promise<readonly Finding[]> {
  const listed = (found: Findings): Finding[] => ("id" in found ? [found] : [...found]);
  const findings = listed(judge((await pool.query<Row>(statement)).rows, undefined));
  for (const { worker, rows, failure } of await askOthers(pool, statement, statement.values)) {
    const found = rows === undefined ? unreachable(failure ?? "") : judge(rows as readonly Row[], worker);
    for (const finding of listed(found))
      findings.push({ ...finding, says: `Worker ${worker}: ${finding.says}` });
  }
  return findings;
}

function unreachable(failure: string): Finding {
  return error(
    "citus.reach",
    `The coordinator cannot ask it: ${failure.trim()}`,
    "What lies there is neither accepted, applied nor read.",
    "Start it again, or promote its standby and name that with citus_update_node.",
  );
}

/** The one row that a statement answers. */
export function onlyRow<Row>({ name }: Statement, [row]: readonly Row[]): Row {
  if (row === undefined) throw new Error(`The statement ${name} returned no row.`);
  return row;
}

/** A check that judges the one row of a statement, of each server. */
export function serverRowCheck<Row extends object>(
  name: string,
  statement: AskedStatement,
  judge: (row: Row, subject: DatabaseSubject, worker: string | undefined) => Findings,
): Check {
  return {
    name,
    run: (subject) =>
      findOfServers<Row>(subject, statement, (rows, worker) =>
        judge(onlyRow(statement, rows), subject, worker),
      ),
  };
}

/** A check that judges the one row of a statement. */
export function rowCheck<Row extends object>(
  name: string,
  statement: AskedStatement,
  judge: (row: Row, subject: DatabaseSubject) => Findings,
): Check {
  return {
    name,
    run: async (subject) =>
      judge(onlyRow(statement, (await subject.database.pool.query<Row>(statement)).rows), subject),
  };
}
