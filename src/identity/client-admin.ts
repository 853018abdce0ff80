import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type AuthAdmin, AuthInputError } from "./admin.ts";
import { type AuthChange, changeAuth } from "./change.ts";
import { type ClientSettings, checkClientSettings, checkSecretExpiry } from "./client-input.ts";
import type { Grant } from "./grants.ts";
import { digestNewSecret, newClientId, newClientSecret } from "./secrets.ts";

const INSERT = namedStatement(
  "insert-client",
  `insert into bellhop.client
    (client_id, name, scopes, request_rate, request_burst, token_burst, reply_to_origins, changed_epoch)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  returning created_at as "createdAt"`,
);
const UPDATE = namedStatement(
  "update-client",
  `update bellhop.client
  set name = $2, scopes = $3, request_rate = $4, request_burst = $5, token_burst = $6, reply_to_origins = $7, changed_epoch = $8
  where client_id = $1`,
);
const REVOKE = namedStatement(
  "revoke-client",
  `update bellhop.client set revoked_at = clock_timestamp(), changed_epoch = $2
  where client_id = $1 and revoked_at is null
  returning revoked_at as "revokedAt"`,
);
const LIST = readStatement(new URL("./sql/list-clients.sql", import.meta.url));
const LIST_SECRETS = readStatement(new URL("./sql/list-secrets.sql", import.meta.url));
const PUT_SECRET = readStatement(new URL("./sql/put-secret.sql", import.meta.url));
const DELETE_SECRETS = namedStatement(
  "delete-secrets",
  "delete from bellhop.client_secret where client_id = $1",
);
const INSERT_GRANTS = namedStatement(
  "insert-grants",
  `insert into bellhop.client_grant (client_id, client_code, property_code)
  select $1, client_code, property_code from unnest($2::text[], $3::text[]) as g (client_code, property_code)
  on conflict do nothing`,
);
const DELETE_GRANTS = namedStatement(
  "delete-grants",
  "delete from bellhop.client_grant where client_id = $1",
);

/** A client as its operator sees it. Times are of the database's clock. */
export interface ClientSummary extends ClientSettings {
  readonly clientId: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** When a secret of the client was last good for something, to the minute. */
  readonly lastUsedAt: Date | null;
}

export interface SecretSummary {
  readonly slot: number;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly live: boolean;
}

/**
 * Creates a client. The secret is shown here and never again: the database keeps its digest. It ends by itself after
 * `secretExpiresSeconds`, or never. Throws AuthInputError for settings that cannot be.
 */
export async function createClient(
  admin: AuthAdmin,
  input: ClientSettings,
  options: { readonly secretExpiresSeconds?: number } = {},
): Promise<{ clientId: string; clientSecret: string; client: ClientSummary }> {
  const settings = checkClientSettings(input);
  const expiresSeconds = checkSecretExpiry(options.secretExpiresSeconds);
  const clientId = newClientId();
  const clientSecret = newClientSecret();
  const { internals, who } = admin;
  await changeAuth(internals.pool, async (change) => {
    await change.connection.query({ ...INSERT, values: [clientId, ...columnsOf(settings), change.epoch] });
    await putGrants(change, clientId, settings.grants);
    const { connection } = change;
    const peppers = { sealer: internals.sealer, known: internals.directory.peppers() };
    const { digest, pepper } = await digestNewSecret(connection, peppers, clientId, clientSecret);
    await connection.query({ ...PUT_SECRET, values: [clientId, 1, digest, expiresSeconds, pepper] });
    await change.audit({ who, what: "create-client", clientId, detail: { ...settings } });
  });
  await internals.directory.renew();
  return { clientId, clientSecret, client: (await showClient(admin, clientId)).client };
}

/** Every client, the oldest first, revoked ones included. */
export async function listClients({ internals }: AuthAdmin): Promise<ClientSummary[]> {
  return (await internals.pool.query<ClientSummary>({ ...LIST, values: [null] })).rows;
}

/** One client and its secrets, without anything secret. Throws AuthInputError when there is none of this id. */
export async function showClient(
  { internals }: AuthAdmin,
  clientId: string,
): Promise<{ client: ClientSummary; secrets: SecretSummary[] }> {
  const { rows } = await internals.pool.query<ClientSummary>({ ...LIST, values: [clientId] });
  const client = rows[0];
  if (client === undefined) throw noSuchClient(clientId);
  const secrets = await internals.pool.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
  return { client, secrets: secrets.rows };
}

/** What to change of a client; what is left out stays. */
export interface ClientChanges extends Partial<ClientSettings> {
  /** Adds to and removes from the grants there are, within the transaction, so that two operators do not undo each other. */
  readonly editGrants?: { readonly added: readonly Grant[]; readonly removed: readonly Grant[] };
}

/**
 * Changes what an operator decides of a client. Takes effect on this node at once, on others
 * within a second, for tokens that are out already too. Throws AuthInputError.
 */
export async function updateClient(
  admin: AuthAdmin,
  clientId: string,
  changes: ClientChanges,
): Promise<ClientSummary> {
  const { internals, who } = admin;
  await changeAuth(internals.pool, async (change) => {
    const current = await readForChange(change, clientId);
    const grants = editGrants(changes.grants ?? current.grants, changes.editGrants);
    const settings = checkClientSettings({ ...current, ...changes, grants });
    await change.connection.query({ ...UPDATE, values: [clientId, ...columnsOf(settings), change.epoch] });
    await change.connection.query({ ...DELETE_GRANTS, values: [clientId] });
    await putGrants(change, clientId, settings.grants);
    await change.audit({ who, what: "update-client", clientId, detail: { ...changes } });
  });
  await internals.directory.renew();
  return (await showClient(admin, clientId)).client;
}

/** Ends a client for good: no new tokens, those that are out are refused, its secrets are deleted. */
export async function revokeClient(admin: AuthAdmin, clientId: string): Promise<Date> {
  const { internals, who } = admin;
  const revokedAt = await changeAuth(internals.pool, async (change) => {
    await readForChange(change, clientId);
    const revoked = await change.connection.query<{ revokedAt: Date }>({
      ...REVOKE,
      values: [clientId, change.epoch],
    });
    await change.connection.query({ ...DELETE_SECRETS, values: [clientId] });
    await change.audit({ who, what: "revoke-client", clientId });
    return revoked.rows[0]?.revokedAt ?? new Date();
  });
  await internals.directory.renew();
  return revokedAt;
}

/** The client, for a change within the epoch's lock. Throws AuthInputError when there is none or it is revoked. */
export async function readForChange(change: AuthChange, clientId: string): Promise<ClientSettings> {
  const { rows } = await change.connection.query<ClientSummary>({ ...LIST, values: [clientId] });
  const client = rows[0];
  if (client === undefined) throw noSuchClient(clientId);
  if (client.revokedAt !== null) {
    throw new AuthInputError(
      `The client ${clientId} was revoked on ${client.revokedAt.toISOString()}: create another.`,
    );
  }
  const { name, scopes, grants, requestRate, requestBurst, tokenBurst, replyToOrigins } = client;
  return { name, scopes, grants, requestRate, requestBurst, tokenBurst, replyToOrigins };
}

function editGrants(grants: readonly Grant[], edit: ClientChanges["editGrants"]): readonly Grant[] {
  if (edit === undefined) return grants;
  const same = (one: Grant) => (other: Grant) =>
    one.clientCode === other.clientCode && one.propertyCode === other.propertyCode;
  const missing = edit.removed.find((grant) => !grants.some(same(grant)));
  if (missing !== undefined) {
    throw new AuthInputError(
      `The client has no grant ${missing.clientCode}/${missing.propertyCode} that could be removed.`,
    );
  }
  const kept = grants.filter((grant) => !edit.removed.some(same(grant)));
  return [...kept, ...edit.added.filter((grant) => !kept.some(same(grant)))];
}

function noSuchClient(clientId: string): AuthInputError {
  return new AuthInputError(
    `There is no client ${JSON.stringify(clientId)}. \`bellhop client list\` shows all there are.`,
  );
}

function columnsOf(settings: ClientSettings): unknown[] {
  const { name, scopes, requestRate, requestBurst, tokenBurst, replyToOrigins } = settings;
  return [name, scopes, requestRate, requestBurst, tokenBurst, replyToOrigins];
}

async function putGrants(change: AuthChange, clientId: string, grants: readonly Grant[]): Promise<void> {
  const clientCodes = grants.map((grant) => grant.clientCode);
  const propertyCodes = grants.map((grant) => grant.propertyCode);
  await change.connection.query({ ...INSERT_GRANTS, values: [clientId, clientCodes, propertyCodes] });
}
