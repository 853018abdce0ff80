import { createHash } from "node:crypto";
import { type TokenRequest, TokenSource } from "./token-source.ts";

/** Clients whose tokens one process keeps; beyond it the one that was made first is forgotten. */
const SOURCES_MAX = 256;

/** A `fetch` of the caller's own may lead anywhere, so what one was given is not used with another. */
const sourcesOf = new WeakMap<typeof fetch, Map<string, TokenSource>>();

/**
 * The source of a client's tokens, one for all BellhopClients of this process with the same credentials: a program that
 * makes a new BellhopClient for every call asks for one token an hour all the same.
 */
export function tokenSourceFor(request: TokenRequest): TokenSource {
  let sources = sourcesOf.get(request.fetch);
  if (sources === undefined) {
    sources = new Map();
    sourcesOf.set(request.fetch, sources);
  }
  const { url, clientId, clientSecret, scope } = request;
  const key = createHash("sha256")
    .update(JSON.stringify([url, clientId, clientSecret, scope]))
    .digest("base64");
  let source = sources.get(key);
  if (source === undefined) {
    source = new TokenSource(request);
    sources.set(key, source);
    const [oldest] = sources.keys();
    if (sources.size > SOURCES_MAX && oldest !== undefined) sources.delete(oldest);
  }
  return source;
}
