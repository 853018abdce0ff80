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

/** Says whether a token is good at this moment. No promise where all is known already: that is nearly every request. */
export type TokenReader = (token: string) => GoodToken | undefined | Promise<GoodToken | undefined>;

/**
 * Makes the reader: signature, times, denylist, key and client. A signature is checked once (0.1 ms) and remembered under
 * the token's hash, so that memory holds no token; everything that can change is checked again at every use. Only good
 * tokens are remembered, so forged ones neither grow the memory nor push good ones out. `expired` is told whose token was
 * refused for nothing but its age.
 */
export function createTokenReader(
  directory: Directory,
  parties: () => Promise<TokenParties>,
  expired: (clientId: string) => void,
): TokenReader {
  const verified = new BoundedMap<string, VerifiedToken>(TOKENS_MAX);

  async function verify(text: string): Promise<VerifiedToken | undefined> {
    const checks = {
      parties: await parties(),
      findKey: directory.lookForKey,
      nowMs: directory.now(),
      expired,
    };
    return verifyAccessToken(text, checks);
  }

  function withClient(token: VerifiedToken, client: ClientFacts | undefined): GoodToken | undefined {
    return client === undefined || client.revoked ? undefined : { token, client };
  }

  async function readUnknown(text: string, digest: string): Promise<GoodToken | undefined> {
    const token = await verify(text);
    if (token === undefined || !isStillGood(directory, token)) return undefined;
    const good = withClient(token, await directory.findClient(token.clientId));
    if (good !== undefined) verified.set(digest, token);
    return good;
  }

  function read(text: string): ReturnType<TokenReader> {
    const digest = hash("sha256", text, "base64");
    const token = verified.get(digest);
    if (token === undefined) return readUnknown(text, digest);
    if (!isStillGood(directory, token)) {
      verified.delete(digest);
      if (isPast(directory, token)) expired(token.clientId);
      return undefined;
    }
    const client = directory.findClient(token.clientId);
    return client instanceof Promise
      ? client.then((found) => withClient(token, found))
      : withClient(token, client);
  }

  return function readToken(text) {
    const renewal = directory.freshen();
    return renewal === undefined ? read(text) : renewal.then(() => read(text));
  };
}

/** Its end gets no tolerance: it is compared with the clock that dated it. */
function isPast(directory: Directory, token: VerifiedToken): boolean {
  return token.expiresAt * 1000 <= directory.now();
}

function isStillGood(directory: Directory, token: VerifiedToken): boolean {
  if (isPast(directory, token)) return false;
  return directory.findKey(token.kid) !== undefined && !directory.isDenied(token.tokenId);
}
