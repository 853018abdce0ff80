import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { OAuthError } from "../platform/errors/oauth-error.ts";
import { originOf } from "../platform/http/networks.ts";
import { decodeFormText } from "../platform/http/read-parameters.ts";
import type { AuthInternals } from "./authenticator.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import type { Form } from "./form.ts";
import { digestSecret, looksLikeCredential, matchSecret, pepperOf, type StoredSecret } from "./secrets.ts";

const READ_CREDENTIALS = readStatement(new URL("./sql/read-credentials.sql", import.meta.url));
/** Stores the digest under another pepper ($5), unless the secret has changed since its digest $3 was read. */
const REDIGEST_SECRET = namedStatement(
  "redigest-secret",
  `update bellhop.client_secret set digest = $4, pepper = $5 where client_id = $1 and slot = $2 and digest = $3`,
);
/** Precision is a minute, so that frequent authentication does not rewrite the row every time. */
const TOUCH_SECRET = namedStatement(
  "touch-secret",
  `update bellhop.client_secret
  set last_used_at = clock_timestamp()
  where client_id = $1 and slot = $2
    and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`,
);

/** A client that has authenticated. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Null: as configured. */
  readonly tokenBurst: number | null;
  /** Lifetime of its tokens in seconds. Null: one hour. */
  readonly tokenSeconds: number | null;
  /** The client's open certification. */
  readonly certificationId: string | null;
}

/** A request to an endpoint with client authentication. */
export interface ClientRequest {
  readonly authorization: readonly string[] | undefined;
  readonly form: Form;
  /** The caller's address, for the failure limit. */
  readonly address: string;
}

interface Credentials {
  readonly clientId: string;
  readonly secret: string;
}

interface CredentialRow extends Omit<AuthenticatedClient, "clientId">, StoredSecret {
  readonly revoked: boolean;
  /** Epoch of the last change of auth data. */
  readonly epoch: string;
}

/**
 * Authenticates the client by its secret, in the body or by HTTP Basic (RFC 6749 §2.3.1). Throws `invalid_client`, with the same message
 * and timing for an unknown id and a wrong secret; `invalid_request` for both methods at once; `temporarily_unavailable` from the 21st
 * failure of an address and id within a minute. A correct secret always passes.
 */
export async function authenticateClient(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<AuthenticatedClient> {
  const credentials = readCredentials(request);
  const find = () => findBySecret(credentials, internals);
  const client = await internals.checks.run(find, originOf(request.address).site);
  if (client !== undefined) return client;
  const waitSeconds = failures.fail(request.address, credentials.clientId);
  if (waitSeconds === 0) throw unknownClient();
  const description =
    "rate limit exceeded: too many requests with this client id failed within a minute. Check the secret; a correct one is never refused.";
  throw new OAuthError("temporarily_unavailable", description, {
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
    throw new OAuthError("invalid_request", "client_id differs from the Authorization header.");
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

/** Each half may be form-encoded. Encoding does not change ids and secrets, so a raw half reads the same. */
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
  // Other text (with NUL, for example, which PostgreSQL rejects) never reaches the database.
  if (!looksLikeCredential(clientId) || !looksLikeCredential(secret)) return undefined;
  // Refresh also after an idle hour: a secret that is used hourly must be redigested under a new pepper.
  await directory.freshen();
  const { rows } = await pool.query<CredentialRow>({ ...READ_CREDENTIALS, values: [clientId] });
  // Another node may have digested this secret with a pepper unknown here, or revoked the key that this node would sign with.
  const epoch = rows[0]?.epoch;
  if (epoch !== undefined) await directory.reach(epoch);
  const row = matchSecret(directory.peppers(), clientId, secret, rows);
  if (row === undefined || row.revoked) return undefined;
  await pool.query({ ...TOUCH_SECRET, values: [clientId, row.slot] });
  await redigest({ clientId, secret }, row, { pool, directory });
  const { scopes, tokenBurst, tokenSeconds, certificationId } = row;
  return { clientId, scopes, tokenBurst, tokenSeconds, certificationId };
}

/** Digests the secret with the current pepper. Only now is its plain text available. */
async function redigest(
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
  return invalidClient("The client id or secret is invalid. Check both for white space and line breaks.");
}

function invalidClient(description: string): OAuthError {
  return new OAuthError("invalid_client", description, {
    headers: { "www-authenticate": 'Basic realm="bellhop", charset="UTF-8"' },
  });
}
