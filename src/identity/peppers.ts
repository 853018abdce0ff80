import { randomBytes } from "node:crypto";
import type { Pool } from "pg";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { openOrKnown, type Sealer } from "./seal.ts";

const ADD = readStatement(new URL("./sql/add-instance-value.sql", import.meta.url));
const LIST = readStatement(new URL("./sql/list-peppers.sql", import.meta.url));

/** The keys under which secrets are digested, by their numbers: one, or two while a rotation is under way. */
export interface Peppers {
  /** Of the digests that are made from now on: the greatest number. */
  readonly current: number;
  /** 32 random bytes each, the installation's own. */
  readonly keys: ReadonlyMap<number, Buffer>;
}

/** The name of a pepper among the values of the installation. The first one has none behind it: it was the only one once. */
export function nameOfPepper(number: number): string {
  return number === 1 ? "auth.pepper" : `auth.pepper.${number}`;
}

/** Stores a new pepper, unless one of this number is there. */
export async function addPepper(on: Queryable, sealer: Sealer, number: number): Promise<void> {
  const name = nameOfPepper(number);
  await on.query({ ...ADD, values: [name, sealer.seal(name, randomBytes(32))] });
}

/**
 * Reads the peppers; undefined where the installation has none yet. One that does not open is as it is `known`, or left out;
 * where none is known, that is thrown as AuthSetupError.
 */
export async function readPeppers(
  on: Queryable,
  sealer: Sealer,
  known?: Peppers,
): Promise<Peppers | undefined> {
  const { rows } = await on.query<{ number: number; value: string }>(LIST);
  const keys = new Map<number, Buffer>();
  for (const { number, value } of rows) {
    const before = known && { value: known.keys.get(number) };
    const key = openOrKnown(sealer, nameOfPepper(number), value, (plain) => plain, before);
    if (key !== undefined) keys.set(number, key);
  }
  return keys.size === 0 ? undefined : { current: Math.max(...keys.keys()), keys };
}

/** The peppers, of which the first is made here. With many nodes starting, the first one decides. */
export async function readOrMakePeppers(pool: Pool, sealer: Sealer): Promise<Peppers> {
  const known = await readPeppers(pool, sealer);
  if (known !== undefined) return known;
  await addPepper(pool, sealer, 1);
  const made = await readPeppers(pool, sealer);
  if (made === undefined) throw new Error("bellhop.instance lost its pepper");
  return made;
}

/** The key of a pepper that is known to be there: the current one has always one. */
export function pepperOf({ keys }: Peppers, number: number): Buffer {
  const key = keys.get(number);
  if (key === undefined) throw new Error(`there is no pepper ${number}`);
  return key;
}
