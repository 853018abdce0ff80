import { hash } from "node:crypto";
import { type VerifiedToken, verifyAccessToken } from "./access-token.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { ClientFacts, Directory } from "./directory.ts";
import type { TokenParties } from "./instance.ts";

/** Verified tokens kept: a few hundred bytes each, and six an hour is what a client may take. */
const TOKENS_MAX = 20_000;

/** A good token and the client it belongs to, as both are now. */
export interface GoodToken {
  readonly token: VerifiedToken;
  readonly client: ClientFacts;
}

/** Says whether a token is good at this moment: signature, times, denylist, key and client. */
export type TokenReader = (token: string) => Promise<GoodToken | undefined>;

/**
 * Makes the reader. A signature is checked once (0.1 ms) and remembered under the token's hash, so that memory holds
 * no token; everything that can change is checked again at every use. Only good tokens are remembered, so forged
 * ones neither grow the memory nor push good ones out.
 */
export function createTokenReader(directory: Directory, parties: () => Promise<TokenParties>): TokenReader {
  const verified = new BoundedMap<string, VerifiedToken>(TOKENS_MAX);

  async function verify(text: string): Promise<VerifiedToken | undefined> {
    const checks = { parties: await parties(), findKey: directory.findKey, nowMs: directory.now() };
    return verifyAccessToken(text, checks);
  }

  return async function readToken(text) {
    await directory.freshen();
    const digest = hash("sha256", text, "base64");
    const remembered = verified.get(digest);
    const token = remembered ?? (await verify(text));
    if (token === undefined) return undefined;
    if (!isStillGood(directory, token)) {
      verified.delete(digest);
      return undefined;
    }
    const client = await directory.findClient(token.clientId);
    if (client === undefined || client.revoked) return undefined;
    if (remembered === undefined) verified.set(digest, token);
    return { token, client };
  };
}

function isStillGood(directory: Directory, token: VerifiedToken): boolean {
  // Its end gets no tolerance: it is compared with the clock that dated it.
  if (token.expiresAt * 1000 <= directory.now()) return false;
  return directory.findKey(token.kid) !== undefined && !directory.isDenied(token.tokenId);
}
