import type pg from "pg";
import type { StripList } from "../../accept/strip-list.ts";
import { identityOnly } from "../../contract/strip-record.ts";
import { rewriteRejected } from "../rewrite-rejected.ts";
import { mentions } from "./words.ts";

/** A record as text, however its texts are escaped. */
function readable(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/**
 * Reduces to their identity the rejected records of lenient batches that are about the subjects: those that name one, and, as anything
 * may stand in them anywhere, those that mention one of the words. Answers how many there were.
 */
export function redactRejected(
  client: pg.ClientBase,
  subjects: StripList,
  words: readonly string[],
): Promise<number> {
  return rewriteRejected(client, (resource, bytes) => {
    const { identity, clientCode = "", propertyCode = "", key = "" } = identityOnly(resource, bytes);
    if (identity.equals(bytes)) return "keep";
    const isNamed = subjects.isSubject({ resource, clientCode, propertyCode, key }, identity);
    return isNamed || mentions(readable(bytes), words) ? identity : "keep";
  });
}
