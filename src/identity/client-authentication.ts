import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { OAuthError } from "../platform/errors/oauth-error.ts";
import type { FailureLimiter } from "./attempt-limiters.ts";
import type { AuthInternals } from "./authenticator.ts";
import { digestSecret, looksLikeCredential, matchSecret, pepperOf, type StoredSecret } from "./secrets.ts";

const READ_CREDENTIALS = readStatement(new URL("./sql/read-credentials.sql", import.meta.url));
/** Under another pepper ($5), unless the secret was changed since its digest $3 was read. */
const REDIGEST_SECRET = namedStatement(
  "redigest-secret",
  `update bellhop.client_secret set digest = $4, pepper = $5 where client_id = $1 and slot = $2 and digest = $3`,
);
/** Last used to the minute: a client that authenticates often does not rewrite its row every time. */
const TOUCH_SECRET = namedStatement(
  "touch-secret",
  `update bellhop.client_secret
  set last_used_at = clock_timestamp()
  where client_id = $1 and slot = $2
    and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`,
);

/** A client that has proven to know its secret. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Null: the configured one. */
  readonly tokenBurst: number | null;
  /** How long a token of it lives, in seconds. Null: an hour, as everybody's. */
  readonly tokenSeconds: number | null;
  /** The certification of the client that is open. */
  readonly certificationId: string | null;
}

/** What a request to an endpoint with client authentication brings. */
export interface ClientRequest {
  readonly authorization: readonly string[] | undefined;
  readonly form: Form;
  /** The caller's address, for the limit of failures. */
  readonly address: string;
}

interface Credentials {
  readonly clientId: string;
  readonly secret: string;
}

interface CredentialRow extends Omit<AuthenticatedClient, "clientId">, StoredSecret {
  readonly revoked: boolean;
  /** Of the last change of auth data. */
  readonly epoch: string;
}

/**
 * Authenticates the client by its secret, in the body or by HTTP Basic (RFC 6749 §2.3.1). Throws `invalid_client`,
 * the same in words and time for an unknown id and a wrong secret; `invalid_request` for two methods at once; and
 * `temporarily_unavailable` for the 21st failure of an address and id in a minute. A correct secret always passes.
 */
export async function authenticateClient(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<AuthenticatedClient> {
  const credentials = readCredentials(request);
  const client = await findBySecret(credentials, internals);
  if (client !== undefined) return client;
  const waitSeconds = failures.fail(request.address, credentials.clientId);
  if (waitSeconds === 0) throw unknownClient();
  throw new OAuthError("temporarily_unavailable", "rate limit exceeded", {
    headers: { "retry-after": String(waitSeconds) },
  });
}

function readCredentials({ authorization, form }: ClientRequest): Credentials {
  const header = authorization?.[0];
  if (header === undefined) return readBodyCredentials(form);
  if (form.has("client_secret")) {
    throw new OAuthError(
      "invalid_request",
      "Send the credentials in the body or in the Authorization header, not in both.",
    );
  }
  const credentials = authorization?.length === 1 ? readBasic(header) : undefined;
  if (credentials === undefined) throw unknownClient();
  const named = form.get("client_id");
  if (named !== undefined && named !== credentials.clientId) {
    throw new OAuthError("invalid_request", "client_id is not the one of the Authorization header.");
  }
  return credentials;
}

function readBodyCredentials(form: Form): Credentials {
  const clientId = form.get("client_id");
  const secret = form.get("client_secret");
  if (clientId === undefined || secret === undefined) {
    throw invalidClient("Send client_id and client_secret in the body, or HTTP Basic credentials.");
  }
  return { clientId, secret };
}

/** Each half is form-encoded; ids and secrets hold nothing that encoding changes, so a raw half reads the same. */
function readBasic(header: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header.trim())?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("latin1");
  const colon = text.indexOf(":");
  if (colon < 0) return undefined;
  const clientId = decodeFormText(text.slice(0, colon));
  const secret = decodeFormText(text.slice(colon + 1));
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret };
}

async function findBySecret(
  { clientId, secret }: Credentials,
  { pool, directory }: AuthInternals,
): Promise<AuthenticatedClient | undefined> {
  // Text that no id or secret of ours can be (NUL, say, which PostgreSQL refuses) never reaches the database.
  if (!looksLikeCredential(clientId) || !looksLikeCredential(secret)) return undefined;
  // Nobody may have asked this thread anything for an hour: a secret that comes once an hour is to change over when it comes.
  await directory.freshen();
  const { rows } = await pool.query<CredentialRow>({ ...READ_CREDENTIALS, values: [clientId] });
  // Another node may have made a pepper since this one last looked, and digested this client's secret with it; or ended the key
  // that this one would sign with.
  const epoch = rows[0]?.epoch;
  if (epoch !== undefined) await directory.reach(epoch);
  const row = matchSecret(directory.peppers(), clientId, secret, rows);
  if (row === undefined || row.revoked) return undefined;
  await pool.query({ ...TOUCH_SECRET, values: [clientId, row.slot] });
  await digestAnew({ clientId, secret }, row, { pool, directory });
  const { scopes, tokenBurst, tokenSeconds, certificationId } = row;
  return { clientId, scopes, tokenBurst, tokenSeconds, certificationId };
}

/** Has a secret whose digest was made with a former pepper digested with the current one: only now is the secret here. */
async function digestAnew(
  { clientId, secret }: Credentials,
  { slot, digest, pepper }: StoredSecret,
  { pool, directory }: Pick<AuthInternals, "pool" | "directory">,
): Promise<void> {
  const peppers = directory.peppers();
  if (pepper === null || pepper >= peppers.current) return;
  const anew = digestSecret(pepperOf(peppers, peppers.current), clientId, secret);
  await pool.query({ ...REDIGEST_SECRET, values: [clientId, slot, digest, anew, peppers.current] });
}

function unknownClient(): OAuthError {
  return invalidClient("The client id or its secret is not valid.");
}

function invalidClient(description: string): OAuthError {
  return new OAuthError("invalid_client", description, {
    headers: { "www-authenticate": 'Basic realm="bellhop", charset="UTF-8"' },
  });
}

/** The parameters of a form that were not empty (RFC 6749 §3.2: sent without a value is as if omitted). */
export type Form = ReadonlyMap<string, string>;

/**
 * Reads an application/x-www-form-urlencoded body. Stricter than URLSearchParams, which lets broken escapes and broken
 * UTF-8 pass as other text: those, and a repeated parameter, are `invalid_request`.
 */
export function parseForm(body: Buffer): Form {
  const text = decodeUtf8(body);
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeFormText(pair.slice(equals + 1));
    if (name === undefined || value === undefined) {
      throw new OAuthError("invalid_request", "The form has a malformed percent-encoding or is not UTF-8.");
    }
    if (seen.has(name)) throw new OAuthError("invalid_request", "A parameter is repeated.");
    seen.add(name);
    if (value !== "") form.set(name, value);
  }
  return form;
}

/** The longest token that is read; those that are issued have under 1,000 characters. */
export const TOKEN_CHARACTERS_MAX = 2048;
const TOKEN = new RegExp(`^[\\x20-\\x7e]{1,${TOKEN_CHARACTERS_MAX}}$`);

/** The token in question; without one, or for what is none (RFC 6749 appendix A.12), `invalid_request`. */
export function requireToken(form: Form): string {
  const token = form.get("token");
  if (token === undefined) throw new OAuthError("invalid_request", "token is missing.");
  if (TOKEN.test(token)) return token;
  throw new OAuthError(
    "invalid_request",
    `token is 1 to ${TOKEN_CHARACTERS_MAX} printable ASCII characters.`,
  );
}

/** Decodes one name or value of a form; undefined when its escapes are malformed or are not UTF-8. */
function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new OAuthError("invalid_request", "The form is not UTF-8.", { cause });
  }
}
