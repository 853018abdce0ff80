import { readStatement } from "../../db/statement.ts";
import type { Queryable } from "../../db/transaction.ts";

const listStatement = readStatement(new URL("./sql/list-erasures.sql", import.meta.url));
const findStatement = readStatement(new URL("./sql/find-certificate.sql", import.meta.url));

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
