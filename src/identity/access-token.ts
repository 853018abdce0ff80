import { randomBytes, randomUUID } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import type { SecretCipher } from "./secret-cipher.ts";
import { ADD_INSTANCE_VALUE } from "./secrets.ts";
import { SIGNING_ALGORITHM, type SigningKey } from "./signing-key.ts";

const READ = namedStatement("read-instance-value", "select value from bellhop.instance where name = $1");

const CURSOR_KEY = "cursor-key";
const ISSUER = "auth.issuer";
const AUDIENCE = "auth.audience";

/** The stored value; made and stored when there is none yet. With many nodes starting, the first one decides. */
async function readOrDecide(pool: Pool, name: string, decide: () => string): Promise<string> {
  const { rows } = await pool.query<{ value: string }>({ ...READ, values: [name] });
  if (rows[0] !== undefined) return rows[0].value;
  await pool.query({ ...ADD_INSTANCE_VALUE, values: [name, decide()] });
  return readOrDecide(pool, name, decide);
}

/**
 * What cursors are encrypted with (32 bytes): the same on all nodes, of this installation alone, and for ever, so that a cursor which
 * a client keeps stays good whatever else is rotated.
 */
export async function readCursorKey(pool: Pool, cipher: SecretCipher): Promise<Buffer> {
  const stored = await readOrDecide(pool, CURSOR_KEY, () => cipher.encrypt(CURSOR_KEY, randomBytes(32)));
  return cipher.decrypt(CURSOR_KEY, stored);
}

/** Who issues the tokens and for whom, the same on every node and for ever (docs/decisions/0002-token-issuer.md). */
export interface TokenParties {
  readonly issuer: string;
  readonly audience: string;
}

/** Reads issuer and audience; the first node to need them stores its own address as the issuer. */
export async function readTokenParties(pool: Pool, authUrl: () => string): Promise<TokenParties> {
  const issuer = await readOrDecide(pool, ISSUER, () => requireAddress(authUrl()));
  const audience = await readOrDecide(pool, AUDIENCE, () => `urn:uuid:${randomUUID()}`);
  return { issuer, audience };
}

/** What is stored stays for ever, so an address that is not known yet must not be. */
function requireAddress(authUrl: string): string {
  if (URL.canParse(authUrl)) return authUrl;
  throw new Error("the service does not know its own address yet");
}

/** How long a token is good (specification §5.3 and §8). */
export const TOKEN_SECONDS = 3600;

/**
 * Tolerance between dating and checking a token. Both go by the database's clock, so it covers only the time a
 * question takes to travel; RFC 8725 and security.md allow up to 30 s.
 */
export const TOKEN_LEEWAY_SECONDS = 5;

/** Ours have about 560 characters. Longer text is refused before anything is done with it. */
const TOKEN_CHARACTERS_MAX = 4096;

/** `typ` of an access token (RFC 9068 §2.1), which keeps any other JWT from passing for one. */
const TOKEN_TYPE = "at+jwt";

/** What a token says, after everything about it was checked. */
export interface VerifiedToken {
  readonly tokenId: string;
  readonly clientId: string;
  readonly kid: string;
  readonly scopes: readonly string[];
  /** Seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** A token as its endpoint gives it out (RFC 6749 §5.1). */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenId: string;
  readonly expiresInSeconds: number;
  readonly scopes: readonly string[];
}

/** Signs an access token (RFC 9068). Every call yields another: its `jti` is a fresh UUID. */
export async function signAccessToken(
  grant: { readonly clientId: string; readonly scopes: readonly string[]; readonly seconds?: number },
  parties: TokenParties,
  key: SigningKey,
  nowMs: number,
): Promise<IssuedToken> {
  if (key.privateKey === undefined) throw new Error(`signing key ${key.kid} has no private part`);
  const issuedAt = Math.floor(nowMs / 1000);
  const expiresInSeconds = grant.seconds ?? TOKEN_SECONDS;
  const tokenId = randomUUID();
  const accessToken = await new SignJWT({ client_id: grant.clientId, scope: grant.scopes.join(" ") })
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: TOKEN_TYPE, kid: key.kid })
    .setIssuer(parties.issuer)
    .setAudience(parties.audience)
    .setSubject(grant.clientId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + expiresInSeconds)
    .setJti(tokenId)
    .sign(key.privateKey);
  return { accessToken, tokenId, expiresInSeconds, scopes: grant.scopes };
}

/** What a token is checked against. */
export interface TokenChecks {
  readonly parties: TokenParties;
  /** The live key of this id, announced ones included; of our own, whatever a token names. */
  readonly findKey: (kid: string) => SigningKey | undefined | Promise<SigningKey | undefined>;
  readonly nowMs: number;
  /** Called with the token's client when nothing but its age is wrong with it. */
  readonly expired?: (clientId: string) => void;
}

/**
 * Checks a token: its shape, header, signature, issuer, audience, times and every claim (RFC 8725 §3). Gives
 * `undefined` for anything but a token of ours that is good now. Reads only what it is given.
 */
export async function verifyAccessToken(
  token: string,
  checks: TokenChecks,
): Promise<VerifiedToken | undefined> {
  const kid = readHeader(token);
  const key = kid === undefined ? undefined : await checks.findKey(kid);
  if (kid === undefined || key === undefined) return undefined;
  try {
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [SIGNING_ALGORITHM],
      typ: TOKEN_TYPE,
      issuer: checks.parties.issuer,
      audience: checks.parties.audience,
      requiredClaims: ["iss", "aud", "sub", "client_id", "iat", "exp", "jti", "scope"],
      clockTolerance: TOKEN_LEEWAY_SECONDS,
      // Also refuses a token dated in the future, which `exp` and `nbf` alone would not.
      maxTokenAge: TOKEN_SECONDS,
      currentDate: new Date(checks.nowMs),
    });
    const { sub, client_id: clientId, jti, scope, iat, exp, aud } = payload;
    if (typeof clientId !== "string" || clientId !== sub || typeof aud !== "string") return undefined;
    if (typeof jti !== "string" || typeof scope !== "string") return undefined;
    // None of ours lives longer than the specification's hour, whatever signed it.
    if (iat === undefined || exp === undefined || !(exp - iat <= TOKEN_SECONDS)) return undefined;
    const scopes = scope.split(" ").filter((word) => word !== "");
    return { tokenId: jti, clientId, kid, scopes, issuedAt: iat, expiresAt: exp };
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      const { client_id: clientId, sub } = error.payload;
      if (typeof clientId === "string" && clientId === sub) checks.expired?.(clientId);
    }
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/**
 * The `kid` of a token whose spelling and header are exactly such as ours. A header with anything else in it
 * (`jwk`, `jku`, `x5u`, `crit` …) is no token of this service, so none of those is ever looked at.
 */
function readHeader(token: string): string | undefined {
  if (token.length > TOKEN_CHARACTERS_MAX) return undefined;
  const parts = /^([\w-]+)\.[\w-]+\.([\w-]{86})$/.exec(token);
  const [, header, signature] = parts ?? [];
  if (header === undefined || signature === undefined) return undefined;
  // 86 base64url characters hold four bits more than 64 bytes: without this check, 16 spellings of a signature would pass.
  if (Buffer.from(signature, "base64url").toString("base64url") !== signature) return undefined;
  const fields = parseHeader(header);
  if (fields === undefined || Object.keys(fields).length !== 3) return undefined;
  const { alg, typ, kid } = fields;
  return alg === SIGNING_ALGORITHM && typ === TOKEN_TYPE && typeof kid === "string" ? kid : undefined;
}

function parseHeader(header: string): { alg?: unknown; typ?: unknown; kid?: unknown } | undefined {
  try {
    const fields: unknown = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
    return typeof fields === "object" && fields !== null ? fields : undefined;
  } catch {
    return undefined;
  }
}
