import type { KeyObject } from "node:crypto";
import { BodyLayout } from "./body-layout.ts";
import { DecryptionError, encryptBody, partKeyOf, payloadKeyIdOf } from "./encrypt-body.ts";
import type { PartName, StoredBody } from "./part-name.ts";

/** Finds a data key by id; undefined if there is none. */
export type FindPayloadKey = (keyId: string) => Promise<KeyObject | undefined>;

/** The payload keys that this thread has used. A global, because readers are far from the settings; random ids cannot collide. */
const knownKeys = new Map<string, KeyObject>();
const finders = new Set<FindPayloadKey>();

/** Registers a way to find payload keys; call the returned function to remove it. */
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
    knownKeys.set(keyId, key);
    return key;
  }
  // The database did not answer, or the stored key could not be decrypted.
  if (cause !== undefined) throw cause;
  throw new DecryptionError(`The payload key ${keyId} of a log part was not found.`);
}

/** Opens a layout to read the records of a part. A promise only if the key must be loaded. Throws DecryptionError if there is none. */
export function openLayout(part: PartName, layout: Buffer): BodyLayout | Promise<BodyLayout> {
  const keyId = payloadKeyIdOf(layout);
  if (keyId === undefined) return new BodyLayout(layout);
  const open = (key: KeyObject) => new BodyLayout(layout, partKeyOf(key, part, layout));
  const key = knownKeys.get(keyId);
  return key === undefined ? findKey(keyId).then(open) : open(key);
}

/** Encrypts the replacement of a stored part under the same data key, whatever the current settings; plaintext stays plaintext. */
export async function encryptAsBefore(
  packed: StoredBody,
  part: PartName,
  former: Pick<StoredBody, "layout">,
): Promise<StoredBody> {
  const keyId = payloadKeyIdOf(former.layout);
  if (keyId === undefined) return packed;
  return encryptBody(packed, part, { keyId, key: knownKeys.get(keyId) ?? (await findKey(keyId)) });
}
