import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import * as field from "./fields.ts";
import type { StayQuestion } from "./question.ts";

const readKnownNights = readStatement(new URL("./sql/read-known-nights.sql", import.meta.url));

/** From when on a property's books are known. Both are null if no reservation is. */
export interface KnownNights {
  /** The first night whose reservations are known. */
  readonly night: string | null;
  /** The first instant, by the query's clock, of which the books are known. */
  readonly since: string | null;
}

/** In answers that compare with last year. */
export const KNOWN_FIELDS = {
  lastYearKnownFrom: field.orNull(
    field.day(
      "The first night of last year that reservations cover. Figures of nights before it are null, because they are not known. Null: no such night is known, or nothing was asked of last year.",
      "2025-06-01",
    ),
  ),
};

export async function readKnown(
  on: Queryable,
  { property, clock }: Pick<StayQuestion, "property" | "clock">,
): Promise<KnownNights> {
  const { rows } = await on.query<{ night: string | null; source: string | null; receipt: string | null }>({
    ...readKnownNights,
    values: [property.bucket, property.propertyId],
  });
  const [known] = rows;
  return { night: known?.night ?? null, since: known?.[clock] ?? null };
}

/** Whether the books of a night are known as of an instant (ISO 8601). */
export function isKnownAt({ night: first, since }: KnownNights, night: string, asOf: string): boolean {
  return first !== null && since !== null && night >= first && Date.parse(asOf) >= Date.parse(since);
}
