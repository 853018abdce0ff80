import type pg from "pg";
import { ADVANCED, loadOrAdvance, type StoredCurrent } from "../../src/apply/state/look-up.ts";
import type { RecordKey } from "../../src/apply/state/record.ts";

/** The current record of a key, if there is one. The session is one of `openStateSession`. */
export async function currentOf(client: pg.ClientBase, of: RecordKey): Promise<StoredCurrent | null> {
  const [found = null] = await loadOrAdvance(client, [{ of, arrived: null, isUnnamed: false }]);
  return found === ADVANCED ? null : found;
}
