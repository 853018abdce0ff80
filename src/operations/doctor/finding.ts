import type { Config } from "../../config.ts";
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

/** A check changes nothing; an error that it throws becomes a finding of its own (examine.ts). */
export interface Check<Subject = DatabaseSubject> {
  /** The area of its findings' ids. */
  readonly name: string;
  run(subject: Subject): Promise<Findings> | Findings;
}

/** A check that judges the one row of a statement. */
export function rowCheck<Row extends object>(
  name: string,
  statement: Statement & { readonly values?: unknown[] },
  judge: (row: Row, subject: DatabaseSubject) => Findings,
): Check {
  return {
    name,
    run: async (subject) => {
      const [row] = (await subject.database.pool.query<Row>(statement)).rows;
      if (row === undefined) throw new Error(`The statement ${statement.name} returned no row.`);
      return judge(row, subject);
    },
  };
}
