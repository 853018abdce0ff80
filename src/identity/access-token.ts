import { randomBytes, randomUUID } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import type { Pool } from "pg";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { ADD_INSTANCE_VALUE } from "./secrets.ts";
import { SIGNING_ALGORITHM, type SigningKey } from "./signing-key.ts";

const READ = namedStatement("read-instance-value", "select value from bellhop.instance where name = $1");

const CURSOR_KEY = "cursor-key";
const ISSUER = "auth.issuer";
const AUDIENCE = "auth.audience";

/** The stored value; creates and stores it if missing. If several nodes start together, the first one decides. */
async function readOrCreate(pool: Pool, name: string, decide: () => string): Promise<string> {
  const { rows } = await pool.query<{ value: string }>({ ...READ, values: [name] });
  if (rows[0] !== undefined) return rows[0].value;
  await pool.query({ ...ADD_INSTANCE_VALUE, values: [name, decide()] });
  return readOrCreate(pool, name, decide);
}

/** The key that encrypts cursors (32 bytes), shared by all nodes. It is never rotated, so that cursors kept by clients stay valid. */
export async function readCursorKey(pool: Pool, cipher: SecretCipher): Promise<Buffer> {
  const stored = await readOrCreate(pool, CURSOR_KEY, () => cipher.encrypt(CURSOR_KEY, randomBytes(32)));
  return cipher.decrypt(CURSOR_KEY, stored);
}

/** Issuer and audience of the tokens, the same on every node and never changed (docs/decisions/0002-token-issuer.md). */
export interface TokenParties {
  readonly issuer: string;
  readonly audience: string;
}

/** Reads issuer and audience. The first node to need them stores its own address as the issuer. */
export async function readTokenParties(pool: Pool, authUrl: () => string): Promise<TokenParties> {
  const issuer = await readOrCreate(pool, ISSUER, () => requireAddress(authUrl()));
  const audience = await readOrCreate(pool, AUDIENCE, () => `urn:uuid:${randomUUID()}`);
  return { issuer, audience };
}

/** The stored value is permanent, so an unknown address must not be stored. */
function requireAddress(authUrl: string): string {
  if (URL.canParse(authUrl)) return authUrl;
  throw new Error("the service does not know its own address yet");
}

/** Token lifetime (specification §5.3 and §8). */
export const TOKEN_SECONDS = 3600;

/**
 * Tolerance between dating and checking a token. Both use the database's clock, so it covers only query time; RFC 8725 and security.md
 * allow up to 30 s.
 */
export const TOKEN_LEEWAY_SECONDS = 5;

/** Issued tokens have about 560 characters. Longer text is refused without further checks. */
const TOKEN_CHARACTERS_MAX = 4096;

/** `typ` of an access token (RFC 9068 §2.1), which distinguishes it from any other JWT. */
const TOKEN_TYPE = "at+jwt";

/** Claims of a token that passed every check. */
export interface VerifiedToken {
  readonly tokenId: string;
  readonly clientId: string;
  readonly kid: string;
  readonly scopes: readonly string[];
  /** Seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** An issued token (RFC 6749 §5.1). */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenId: string;
  readonly expiresInSeconds: number;
  readonly scopes: readonly string[];
}

/** Signs an access token (RFC 9068) with a fresh UUID as its `jti`. */
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
  /** The live key with this id among our own, including announced ones. */
  readonly findKey: (kid: string) => SigningKey | undefined | Promise<SigningKey | undefined>;
  readonly nowMs: number;
  /** Called with the token's client if its age is the only fault. */
  readonly expired?: (clientId: string) => void;
}

/**
 * Checks a token: form, header, signature, issuer, audience, times and every claim (RFC 8725 §3). Returns `undefined` unless it is a valid
 * token of this installation.
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
      // Also refuses a token dated in the future, which `exp` and `nbf` do not.
      maxTokenAge: TOKEN_SECONDS,
      currentDate: new Date(checks.nowMs),
    });
    const { sub, client_id: clientId, jti, scope, iat, exp, aud } = payload;
    if (typeof clientId !== "string" || clientId !== sub || typeof aud !== "string") return undefined;
    if (typeof jti !== "string" || typeof scope !== "string") return undefined;
    // No token lives longer than the specification's hour, whatever its signature.
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

const SIGNATURE_CHARACTERS = 86;

/**
 * The `kid` of a token with exactly our form and header. Refuses any other header parameter (`jwk`, `jku`, `x5u`, `crit` …), so none is
 * ever interpreted.
 */
function readHeader(token: string): string | undefined {
  if (token.length > TOKEN_CHARACTERS_MAX) return undefined;
  const parts = /^([\w-]+)\.[\w-]+\.([\w-]+)$/.exec(token);
  const [, header, signature] = parts ?? [];
  if (header === undefined || signature?.length !== SIGNATURE_CHARACTERS) return undefined;
  // 86 base64url characters hold four bits more than 64 bytes, so each signature would otherwise have 16 valid spellings.
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
