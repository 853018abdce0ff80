import type { KeyObject } from "node:crypto";
import { BodyLayout } from "./body-layout.ts";
import { partKeyOf, SealError, sealBody, sealedUnder } from "./seal-body.ts";
import type { PartName, StoredBody } from "./stored-part.ts";

/** Looks for a data key that this thread has not met; undefined where there is none of this id. */
export type FindPayloadKey = (keyId: string) => Promise<KeyObject | undefined>;

/**
 * The data keys that this thread has met, as long as it lives: there are a few, and records are opened far below whoever knows
 * the settings. Ids are random, so where one process serves several databases (tests do) their keys stay apart.
 */
const met = new Map<string, KeyObject>();
const finders = new Set<FindPayloadKey>();

/** From now on keys that this thread has not met are looked for by `find` too; until the answered function is called. */
export function findPayloadKeysBy(find: FindPayloadKey): () => void {
  finders.add(find);
  return () => finders.delete(find);
}

async function findKey(keyId: string): Promise<KeyObject> {
  let cause: unknown;
  for (const find of finders) {
    const key = await find(keyId).catch((error: unknown) => {
      cause = error;
      return undefined;
    });
    if (key === undefined) continue;
    met.set(keyId, key);
    return key;
  }
  // The database did not answer, or its key did not open: whoever asked is told that.
  if (cause !== undefined) throw cause;
  throw new SealError(`A part of the log is sealed under the payload key ${keyId}, which is not known here.`);
}

/**
 * The layout of a part whose records are to be read: the one way to what is in the log. A promise only where the part is sealed
 * under a key that this thread has not met. Throws SealError where there is no such key.
 */
export function openLayout(part: PartName, layout: Buffer): BodyLayout | Promise<BodyLayout> {
  const keyId = sealedUnder(layout);
  if (keyId === undefined) return new BodyLayout(layout);
  const open = (key: KeyObject) => new BodyLayout(layout, partKeyOf(key, part, layout));
  const key = met.get(keyId);
  return key === undefined ? findKey(keyId).then(open) : open(key);
}

/**
 * Seals what is to stand in the place of a stored part (`packed`, by `packBody`) as that one is sealed: under the same data key,
 * so that its seal does not depend on what is set today; readable where that is.
 */
export async function sealAsBefore(
  packed: StoredBody,
  part: PartName,
  former: Pick<StoredBody, "layout">,
): Promise<StoredBody> {
  const keyId = sealedUnder(former.layout);
  if (keyId === undefined) return packed;
  return sealBody(packed, part, { keyId, key: met.get(keyId) ?? (await findKey(keyId)) });
}
