import type { Config } from "../../config.ts";
import { askOthers } from "../../platform/db/dialect.ts";
import type { Database } from "../../platform/db/open-database.ts";
import type { Statement } from "../../platform/db/statement.ts";

/** `warning`: works today but should be changed. `error`: does not work, or puts accepted or secret data at risk. */
export type Severity = "ok" | "warning" | "error";

export interface Finding {
  /** A stable id for programs: `area.thing`, such as `database.durability`. */
  readonly id: string;
  readonly severity: Severity;
  /** The finding with its figures, in one sentence. */
  readonly says: string;
  /** The consequence, unless the severity is ok. */
  readonly means?: string;
  /** The remedy, unless the severity is ok. */
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

/** The problems, or `fine` if there are none. */
export function problemsOr(fine: Finding, troubles: Iterable<Finding>): readonly Finding[] {
  const found = [...troubles];
  return found.length > 0 ? found : [fine];
}

export function worstOf(findings: readonly Finding[]): Severity {
  const has = (severity: Severity) => findings.some((finding) => finding.severity === severity);
  return has("error") ? "error" : has("warning") ? "warning" : "ok";
}

/** Input of database checks, which are read-only and have a statement timeout. */
export interface DatabaseSubject {
  readonly config: Config;
  readonly database: Database;
}

type Findings = Finding | Iterable<Finding>;
type AskedStatement = Statement & { readonly values?: unknown[] };

/** A read-only check. If it throws, the error becomes a finding (examine.ts). */
export interface Check<Subject = DatabaseSubject> {
  /** The area of its findings' ids. */
  readonly name: string;
  run(subject: Subject): Promise<Findings> | Findings;
}

/**
 * The findings of `judge` for a statement's rows on each server of the database: the session's and, with Citus, the workers, which the
 * findings name.
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
    `The coordinator cannot query it: ${failure.trim()}`,
    "Data of its buckets is neither accepted, applied nor read.",
    "Restart it, or promote its standby and register it with citus_update_node.",
  );
}

/** The single row of a statement's result. */
export function onlyRow<Row>({ name }: Statement, [row]: readonly Row[]): Row {
  if (row === undefined) throw new Error(`The statement ${name} returned no row.`);
  return row;
}

/** A check of a statement's single row on each server. */
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

/** A check of a statement's single row. */
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
