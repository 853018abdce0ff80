import type { Pool } from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { recordAudit } from "./audit.ts";
import { AuthSetupError, type Sealer } from "./seal.ts";

const LIST = readStatement(new URL("./sql/list-sealed-values.sql", import.meta.url));

/** For each place how a value is replaced: only while it is still the one that was read, so that nodes doing it at once do no harm. */
const RESEAL = {
  instance: namedStatement(
    "reseal-instance-value",
    `-- Only while it is still the value that was read, so that two nodes doing this at once do no harm.
  update bellhop.instance set value = $3 where name = $1 and value = $2`,
  ),
  signing_key: namedStatement(
    "reseal-signing-key",
    `update bellhop.signing_key set private_key = $3 where kid = $1 and private_key = $2`,
  ),
  webhook_secret: namedStatement(
    "reseal-webhook-secret",
    `update bellhop.webhook_secret set sealed = $3 where endpoint_id = $1 and sealed = $2`,
  ),
  payload_key: namedStatement(
    "reseal-payload-key",
    `update bellhop.payload_key set sealed = $3 where key_id = $1 and sealed = $2`,
  ),
} as const;

interface SealedValue {
  readonly place: keyof typeof RESEAL;
  readonly id: string;
  /** The name that is bound into the value. */
  readonly bound: string;
  readonly sealed: string;
}

/** How the sealed values of an installation lie. */
export interface SealedState {
  readonly values: number;
  /** Under a former key, or readable although there is a key. */
  readonly behind: readonly SealedValue[];
}

/** Looks which values are not sealed as they would be today. */
export async function readSealedState(pool: Pool, sealer: Sealer): Promise<SealedState> {
  const { rows } = await pool.query<SealedValue>(LIST);
  return {
    values: rows.length,
    behind: rows.filter(({ bound, sealed }) => !sealer.isCurrent(bound, sealed)),
  };
}

/** What came of sealing anew. */
export interface Resealed {
  readonly resealed: number;
  /** Names of values that neither the current key nor a former one opens: they stay as they are. */
  readonly unopened: readonly string[];
}

/**
 * Seals with the current key whatever lies under a former one, or readable; leaves an audit entry where there was any. What it
 * replaces is opened first, so nothing is lost on the way, and may be done by several at once.
 */
export async function reseal(pool: Pool, sealer: Sealer, who: string): Promise<Resealed> {
  const { behind } = await readSealedState(pool, sealer);
  const unopened: string[] = [];
  const places = new Map<string, number>();
  for (const { place, id, bound, sealed } of behind) {
    const plain = openIfPossible(sealer, bound, sealed);
    if (plain === undefined) {
      unopened.push(bound);
      continue;
    }
    const { rowCount } = await pool.query({
      ...RESEAL[place],
      values: [id, sealed, sealer.seal(bound, plain)],
    });
    places.set(place, (places.get(place) ?? 0) + (rowCount ?? 0));
  }
  const resealed = [...places.values()].reduce((sum, count) => sum + count, 0);
  if (resealed > 0)
    await recordAudit(pool, { who, what: "reseal-values", detail: Object.fromEntries(places) });
  return { resealed, unopened };
}

function openIfPossible(sealer: Sealer, bound: string, sealed: string): Buffer | undefined {
  try {
    return sealer.open(bound, sealed);
  } catch (error) {
    if (error instanceof AuthSetupError) return undefined;
    throw error;
  }
}
