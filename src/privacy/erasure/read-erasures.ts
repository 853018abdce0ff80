import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

const listStatement = namedStatement(
  "list-erasures",
  `select erasure_id as "erasureId", requested_by as "requestedBy", reason, started_at as "startedAt",
    finished_at as "finishedAt", certificate_hash as "certificateHash",
    (
      select count(*)::integer from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
    ) as subjects
  from bellhop.erasure
  order by started_at desc, erasure_id`,
);
const findStatement = namedStatement(
  "find-certificate",
  `select certificate from bellhop.erasure where erasure_id::text = $1 and certificate is not null`,
);

/** An erasure as operators list it. */
export interface ErasureSummary {
  readonly erasureId: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly startedAt: Date;
  /** Null: it is under way, or was cut off. */
  readonly finishedAt: Date | null;
  readonly subjects: number;
  readonly certificateHash: string | null;
}

/** All erasures, the newest first. */
export async function listErasures(on: Queryable): Promise<ErasureSummary[]> {
  return (await on.query<ErasureSummary>(listStatement)).rows;
}

/** The certificate of an erasure, as the very text that was hashed; undefined where there is none (yet). */
export async function findCertificate(on: Queryable, erasureId: string): Promise<string | undefined> {
  const { rows } = await on.query<{ certificate: string }>({ ...findStatement, values: [erasureId] });
  return rows[0]?.certificate;
}
