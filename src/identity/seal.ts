import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { OperatorError } from "../platform/errors/operator-error.ts";

/** The database's auth data cannot be used with these settings; the message tells the operator what to do. */
export class AuthSetupError extends OperatorError {}

/** Wraps values that must not be readable in a copy of the database. `name` is bound in: a value cannot be moved. */
export interface Sealer {
  readonly encrypts: boolean;
  seal(name: string, plain: Buffer): string;
  /** Throws AuthSetupError when the key is missing or another one. */
  open(name: string, sealed: string): Buffer;
  /** Whether the value lies as `seal` would put it there today: under the current key, or readable where there is none. */
  isCurrent(name: string, sealed: string): boolean;
}

const PLAIN = "plain:";
const ENCRYPTED = "aes256gcm:";

/**
 * Makes the sealer of KEY_ENCRYPTION_KEY (32 bytes, base64) and of those before it, which still open what they sealed. Without
 * a key, values are kept readable.
 */
export function createSealer(
  keyEncryptionKey: string | undefined,
  previousKeys: readonly string[] = [],
): Sealer {
  const key = keyEncryptionKey === undefined ? undefined : Buffer.from(keyEncryptionKey, "base64");
  const keys = [
    ...(key === undefined ? [] : [key]),
    ...previousKeys.map((each) => Buffer.from(each, "base64")),
  ];
  return {
    encrypts: key !== undefined,
    seal: (name, plain) => (key === undefined ? PLAIN + plain.toString("base64") : encrypt(key, name, plain)),
    open(name, sealed) {
      if (sealed.startsWith(PLAIN)) return Buffer.from(sealed.slice(PLAIN.length), "base64");
      if (keys.length === 0) {
        throw new AuthSetupError(
          `${name} is encrypted in the database: set KEY_ENCRYPTION_KEY to the key it was stored with.`,
        );
      }
      for (const each of keys) {
        const opened = decrypt(each, name, sealed);
        if (opened !== undefined) return opened;
      }
      throw new AuthSetupError(
        `${name} does not open with this KEY_ENCRYPTION_KEY: it was stored with another one; name that in KEY_ENCRYPTION_KEY_PREVIOUS.`,
      );
    },
    isCurrent(name, sealed) {
      if (sealed.startsWith(PLAIN)) return key === undefined;
      return key !== undefined && decrypt(key, name, sealed) !== undefined;
    },
  };
}

/**
 * Opens a value, or answers what is known of it where it does not open: a node that runs goes on with what it has when
 * somebody seals with a key that it was not told. Without `known`, as at the start, throws AuthSetupError.
 */
export function openOrKnown<Opened>(
  sealer: Sealer,
  name: string,
  sealed: string,
  read: (plain: Buffer) => Opened,
  known: { readonly value: Opened | undefined } | undefined,
): Opened | undefined {
  try {
    return read(sealer.open(name, sealed));
  } catch (error) {
    if (known !== undefined && error instanceof AuthSetupError) return known.value;
    throw error;
  }
}

function encrypt(key: Buffer, name: string, plain: Buffer): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(name));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return ENCRYPTED + [iv, body, cipher.getAuthTag()].map((part) => part.toString("base64")).join(":");
}

/** Undefined for what this key did not seal under this name, or what was changed since. */
function decrypt(key: Buffer, name: string, sealed: string): Buffer | undefined {
  const parts = sealed.slice(ENCRYPTED.length).split(":");
  const [iv, body, tag] = parts.map((part) => Buffer.from(part, "base64"));
  if (!sealed.startsWith(ENCRYPTED) || iv === undefined || body === undefined || tag === undefined)
    return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: 16 });
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag);
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch {
    return undefined;
  }
}
