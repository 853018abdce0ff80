import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { OperatorError } from "../errors/operator-error.ts";

/** The stored auth data cannot be used with these settings; the message says what to do. */
export class AuthSetupError extends OperatorError {}

const PLAIN = "plain:";
const ENCRYPTED = "aes256gcm:";

export type SecretCipher = ReturnType<typeof createSecretCipher>;

/**
 * Creates the cipher for secret values in the database: AES-256-GCM with KEY_ENCRYPTION_KEY (32 bytes, base64); the previous keys only
 * decrypt. Without a key, values are stored unencrypted. The `name` is authenticated data, so a value cannot be moved to another row.
 */
export function createSecretCipher(
  keyEncryptionKey: string | undefined,
  previousKeys: readonly string[] = [],
) {
  const key = keyEncryptionKey === undefined ? undefined : Buffer.from(keyEncryptionKey, "base64");
  const keys = previousKeys.map((each) => Buffer.from(each, "base64"));
  if (key !== undefined) keys.unshift(key);
  return {
    encrypts: key !== undefined,
    encrypt: (name: string, plain: Buffer): string =>
      key === undefined ? PLAIN + plain.toString("base64") : encryptWith(key, name, plain),
    /** Throws AuthSetupError if the key is missing or does not match. */
    decrypt(name: string, encrypted: string): Buffer {
      if (encrypted.startsWith(PLAIN)) return Buffer.from(encrypted.slice(PLAIN.length), "base64");
      if (keys.length === 0) {
        throw new AuthSetupError(
          `${name} is encrypted in the database: set KEY_ENCRYPTION_KEY to the key it was stored with.`,
        );
      }
      for (const each of keys) {
        const plain = decryptWith(each, name, encrypted);
        if (plain !== undefined) return plain;
      }
      throw new AuthSetupError(
        `${name} cannot be decrypted with this KEY_ENCRYPTION_KEY. Add the key it was stored with to KEY_ENCRYPTION_KEY_PREVIOUS.`,
      );
    },
    /** Whether `encrypt` would store the value in this form today: under the current key, or unencrypted if there is none. */
    isCurrent(name: string, encrypted: string): boolean {
      if (encrypted.startsWith(PLAIN)) return key === undefined;
      return key !== undefined && decryptWith(key, name, encrypted) !== undefined;
    },
  };
}

/**
 * Decrypts a value, or returns the `known` one if that fails: a running node keeps its copy when another node encrypts with a key that
 * this one lacks. Without `known`, as at startup, throws AuthSetupError.
 */
export function decryptOrKnown<Value>(
  cipher: SecretCipher,
  name: string,
  encrypted: string,
  read: (plain: Buffer) => Value,
  known: { readonly value: Value | undefined } | undefined,
): Value | undefined {
  try {
    return read(cipher.decrypt(name, encrypted));
  } catch (error) {
    if (known !== undefined && error instanceof AuthSetupError) return known.value;
    throw error;
  }
}

function encryptWith(key: Buffer, name: string, plain: Buffer): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(name));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return ENCRYPTED + [iv, body, cipher.getAuthTag()].map((part) => part.toString("base64")).join(":");
}

/** Undefined if the value was encrypted with another key or name, or modified since. */
function decryptWith(key: Buffer, name: string, encrypted: string): Buffer | undefined {
  const parts = encrypted.slice(ENCRYPTED.length).split(":");
  const [iv, body, tag] = parts.map((part) => Buffer.from(part, "base64"));
  if (!encrypted.startsWith(ENCRYPTED) || iv === undefined || body === undefined || tag === undefined)
    return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: 16 });
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag);
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch {
    return undefined;
  }
}
