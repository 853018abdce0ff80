import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Ids and secrets use only [A-Za-z0-9_-], so that Basic authentication reads the same whether the client encoded
 * its halves (RFC 6749 §2.3.1) or not. The prefixes let scanners of leaked text recognise what they found, and keep
 * an id from beginning with a dash, which a command line would take for an option.
 */
const CREDENTIAL_SHAPE = /^[A-Za-z0-9_-]{1,128}$/;

/** A new client id, such as `bhc_5Jr0…`: 96 random bits. */
export function newClientId(): string {
  return `bhc_${randomBytes(12).toString("base64url")}`;
}

/** A new secret: 256 random bits, so a fast keyed hash protects it as well as a slow one. */
export function newClientSecret(): string {
  return `bhs_${randomBytes(32).toString("base64url")}`;
}

/** True for text that could be a client id or secret of ours. */
export function looksLikeCredential(text: string): boolean {
  return CREDENTIAL_SHAPE.test(text);
}

/**
 * HMAC-SHA256 of the secret under the installation's pepper, bound to the client id. 2 µs against 80-100 ms for
 * bcrypt, which protects guessable passwords; these secrets cannot be guessed.
 */
export function digestSecret(pepper: Buffer, clientId: string, secret: string): Buffer {
  return createHmac("sha256", pepper).update(`${clientId}\0${secret}`).digest();
}

const NO_DIGEST = Buffer.alloc(32);

/**
 * The slot whose digest is that of the secret. Always hashes once and compares twice, whatever there is to compare
 * with, so the time tells neither whether the client exists nor how many secrets it has.
 */
export function matchSecret(
  pepper: Buffer,
  clientId: string,
  secret: string,
  stored: readonly { readonly slot: number; readonly digest: Buffer }[],
): number | undefined {
  const digest = digestSecret(pepper, clientId, secret);
  let matched: number | undefined;
  for (const index of [0, 1]) {
    const candidate = stored[index];
    const same = timingSafeEqual(digest, candidate?.digest ?? NO_DIGEST);
    if (same && candidate !== undefined) matched = candidate.slot;
  }
  return matched;
}
