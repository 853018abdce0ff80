import type { Row } from "../platform/db/row.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ConflictError, NotFoundError } from "../platform/errors/operator-error.ts";
import { type AuthAdmin, AuthInputError, demand, demandUnchanged, isWhole } from "./admin.ts";
import { type AuthChange, changeAuth } from "./audit.ts";
import type { ClientItem, ClientLimits, NullReading, SecretItem } from "./console-answers.ts";
import { checkGrant, type Grant } from "./grants.ts";
import { isWithinKeys, type Scope } from "./scope.ts";
import { isKnownScope, SCOPES, scopesForTokens } from "./scopes.ts";
import { digestSecret, newClientId, newClientSecret, pepperOf, readPeppers } from "./secrets.ts";

const INSERT = namedStatement(
  "insert-client",
  `insert into bellhop.client
    (client_id, name, scopes, request_rate, request_burst, token_burst, reply_to_origins, nulls, changed_epoch)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
const UPDATE = namedStatement(
  "update-client",
  `update bellhop.client
  set name = $2, scopes = $3, request_rate = $4, request_burst = $5, token_burst = $6, reply_to_origins = $7, nulls = $8,
    changed_epoch = $9
  where client_id = $1`,
);
const REVOKE = namedStatement(
  "revoke-client",
  `update bellhop.client set revoked_at = clock_timestamp(), changed_epoch = $2
  where client_id = $1 and revoked_at is null
  returning revoked_at as "revokedAt"`,
);
const LIST = readStatement(new URL("./sql/list-clients.sql", import.meta.url));
const LIST_SECRETS = namedStatement(
  "list-secrets",
  `select slot,
    created_at as "createdAt",
    expires_at as "expiresAt",
    last_used_at as "lastUsedAt",
    expires_at is null or expires_at > clock_timestamp() as live
  from bellhop.client_secret
  where client_id = $1
  order by created_at, slot`,
);
/** Stores a secret in a slot, replacing any previous one. $4: seconds until it expires; null means never. */
const PUT_SECRET = namedStatement(
  "put-secret",
  `insert into bellhop.client_secret (client_id, slot, digest, expires_at, pepper)
  values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5)
  on conflict (client_id, slot) do update
  set digest = excluded.digest, pepper = excluded.pepper, created_at = clock_timestamp(), expires_at = excluded.expires_at, last_used_at = null`,
);
const LIST_WITHIN = namedStatement(
  "list-clients-within",
  // It reads only clients with a grant of one of the client codes, so that its cost does not depend on other tenants'.
  `select client_id as "clientId" from bellhop.client_grant
  where client_id in (
    select client_id from bellhop.client_grant
    where client_code in (select split_part(key, E'\\n', 1) from unnest($1::text[]) as key)
  )
  group by client_id
  having bool_and${isWithinKeys("$1", "client_grant")}`,
);
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
  `delete from bellhop.client_grant
  where client_id = $1
    and (client_code, property_code) in (select * from unnest($2::text[], $3::text[]))`,
);
/** The client codes among $1 with more than $2 grants, or with more than $3 clients. Counts revoked clients, whose grants remain. */
const FIND_CROWDED = namedStatement(
  "find-crowded-client-codes",
  `select client_code as "clientCode" from bellhop.client_grant
  where client_code = any ($1::text[])
  group by client_code
  having count(*) > $2 or count(distinct client_id) > $3
  order by client_code limit 1`,
);

/** A client as shown to an operator. Times are by the database's clock. */
export interface ClientSummary extends ClientSettings, Omit<Row<ClientItem>, "grantTotal"> {
  readonly nulls: NullReading;
}

export type SecretSummary = Row<SecretItem>;

/**
 * Creates a client. Only this call returns the secret; the database stores its digest. The secret expires after `secretExpiresSeconds`, or
 * never. Throws AuthInputError for invalid settings.
 */
export async function createClient(
  admin: AuthAdmin,
  input: ClientSettings,
  { secretExpiresSeconds }: { readonly secretExpiresSeconds?: number | undefined } = {},
): Promise<{ clientId: string; clientSecret: string; client: ClientSummary }> {
  const { internals, who, scope } = admin;
  const settings = checkClientSettings(input, scope);
  const expiresSeconds = checkSecretExpiry(secretExpiresSeconds);
  const clientId = newClientId();
  const clientSecret = await changeAuth(internals, async (change) => {
    await change.connection.query({ ...INSERT, values: [clientId, ...columnsOf(settings), change.epoch] });
    await changeGrants(change, scope, clientId, { added: settings.grants, removed: [] });
    const secret = await putNewSecret(change, internals, clientId, 1, expiresSeconds);
    await change.audit({ who, what: "create-client", clientId, detail: { ...settings } });
    return secret;
  });
  return { clientId, clientSecret, client: (await showClient({ internals, who }, clientId)).client };
}

/**
 * Creates a secret and stores its digest in a slot; null seconds: it never expires. Reads the current pepper within the transaction, so
 * that it cannot use one that is being retired.
 */
async function putNewSecret(
  { connection }: AuthChange,
  { cipher, directory }: AuthAdmin["internals"],
  clientId: string,
  slot: number,
  expiresSeconds: number | null,
): Promise<string> {
  const secret = newClientSecret();
  const peppers = await readPeppers(connection, cipher, directory.peppers());
  if (peppers === undefined) throw new Error("the installation has no pepper yet");
  const digest = digestSecret(pepperOf(peppers, peppers.current), clientId, secret);
  await connection.query({
    ...PUT_SECRET,
    values: [clientId, slot, digest, expiresSeconds, peppers.current],
  });
  return secret;
}

/** The clients that have grants, all within the scope; null means every client. */
export async function clientsWithin(on: Queryable, { keys }: Scope): Promise<readonly string[] | null> {
  if (keys === null) return null;
  const { rows } = await on.query<{ clientId: string }>({ ...LIST_WITHIN, values: [keys] });
  return rows.map(({ clientId }) => clientId);
}

/** All clients, oldest first, including revoked ones. */
export async function listClients({ internals }: AuthAdmin): Promise<ClientSummary[]> {
  return (await internals.pool.query<ClientSummary>({ ...LIST, values: [null] })).rows;
}

/** One client and its secrets' metadata. Throws NotFoundError. */
export async function showClient(
  { internals, scope }: AuthAdmin,
  clientId: string,
): Promise<{ client: ClientSummary; secrets: SecretSummary[] }> {
  const client = await findClient(internals.pool, clientId, scope);
  const secrets = await internals.pool.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
  return { client, secrets: secrets.rows };
}

/** Grants to add and remove within the transaction, so that concurrent edits do not undo each other. */
interface GrantsEdit {
  readonly added: readonly Grant[];
  readonly removed: readonly Grant[];
}

/** Settings to change; omitted ones are unchanged. */
export type ClientChanges = {
  readonly [Name in keyof ClientSettings]?: ClientSettings[Name] | undefined;
} & { readonly editGrants?: GrantsEdit | undefined };

/**
 * Changes a client's settings. Takes effect on this node at once and on others within a second, also for issued tokens. Throws
 * AuthInputError.
 */
export async function updateClient(
  admin: AuthAdmin,
  clientId: string,
  changes: ClientChanges,
  shown: Readonly<Record<string, unknown>> = {},
): Promise<ClientSummary> {
  const { internals, who, scope } = admin;
  await changeAuth(internals, async (change) => {
    const current = await readForChange(change, clientId, scope);
    demandUnchanged(current, shown);
    const grants = editGrants(changes.grants ?? current.grants, changes.editGrants);
    const named = Object.entries(changes).filter(([, value]) => value !== undefined);
    const settings = checkClientSettings({ ...current, ...Object.fromEntries(named), grants }, scope);
    await change.connection.query({ ...UPDATE, values: [clientId, ...columnsOf(settings), change.epoch] });
    await changeGrants(change, scope, clientId, {
      added: without(settings.grants, current.grants),
      removed: without(current.grants, settings.grants),
    });
    await change.audit({ who, what: "update-client", clientId, detail: { ...changes } });
  });
  return (await showClient(admin, clientId)).client;
}

/** Permanently revokes a client: it gets no new tokens, issued tokens are refused, and its secrets are deleted. */
export async function revokeClient(admin: AuthAdmin, clientId: string): Promise<Date> {
  const { internals, who, scope } = admin;
  return changeAuth(internals, async (change) => {
    await readForChange(change, clientId, scope);
    const revoked = await change.connection.query<{ revokedAt: Date }>({
      ...REVOKE,
      values: [clientId, change.epoch],
    });
    await change.connection.query({ ...DELETE_SECRETS, values: [clientId] });
    await change.audit({ who, what: "revoke-client", clientId });
    return revoked.rows[0]?.revokedAt ?? new Date();
  });
}

/** Reads the client under the epoch's lock. Throws NotFoundError, or AuthInputError if it is revoked. */
export async function readForChange(
  change: AuthChange,
  clientId: string,
  scope: Scope | undefined,
): Promise<ClientSettings> {
  const client = await findClient(change.connection, clientId, scope);
  demand(
    client.revokedAt === null,
    `The client ${clientId} was revoked on ${client.revokedAt?.toISOString()}: create another.`,
  );
  return client;
}

/** No code of a stored grant has a control character. */
const keyOf = ({ clientCode, propertyCode }: Grant) => `${clientCode}\n${propertyCode}`;

/** The grants that are not among the others. A client may have 20,000, and a form as many, so they are not compared one by one. */
function without(grants: readonly Grant[], others: readonly Grant[]): readonly Grant[] {
  const keys = new Set(others.map(keyOf));
  return grants.filter((grant) => !keys.has(keyOf(grant)));
}

/** Applies the edit. Throws AuthInputError if a grant to remove is missing. */
function editGrants(grants: readonly Grant[], edit: GrantsEdit | undefined): readonly Grant[] {
  if (edit === undefined) return grants;
  const [missing] = without(edit.removed, grants);
  demand(missing === undefined, `The client has no grant ${missing?.clientCode}/${missing?.propertyCode}.`);
  const kept = without(grants, edit.removed);
  return [...kept, ...without(edit.added, kept)];
}

/** Throws NotFoundError also for a client with a grant outside the scope. */
export async function findClient(
  connection: Queryable,
  clientId: string,
  scope: Scope | undefined,
): Promise<ClientSummary> {
  const { rows } = await connection.query<ClientSummary>({ ...LIST, values: [clientId] });
  const client = rows[0];
  if (client !== undefined && scope?.covers(client.grants) !== false) return client;
  throw new NotFoundError(`No client has the id ${JSON.stringify(clientId)} (see bellhop client list).`);
}

function columnsOf(settings: ClientSettings): unknown[] {
  const { name, scopes, requestRate, requestBurst, tokenBurst, replyToOrigins, nulls } = settings;
  return [name, scopes, requestRate, requestBurst, tokenBurst, replyToOrigins, nulls];
}

/**
 * What operators of some properties can make of a client code: each client has a rate and a turn of its own, and its grants take memory on
 * every node. An operator of everything is not limited.
 */
const CLIENTS_OF_CODE_MAX = 1_000;
const GRANTS_OF_CODE_MAX = 20_000;
/** What they can add at once: 20,000 take a second, in which no token is revoked and no other client changed. */
const GRANTS_ADDED_MAX = 2_000;

/** Writes only what differs. Throws AuthInputError if an operator of some properties adds too many. */
async function changeGrants(
  { connection }: AuthChange,
  scope: Scope | undefined,
  clientId: string,
  { added, removed }: GrantsEdit,
): Promise<void> {
  const codesOf = (grants: readonly Grant[]) => [
    grants.map((grant) => grant.clientCode),
    grants.map((grant) => grant.propertyCode),
  ];
  if (removed.length > 0)
    await connection.query({ ...DELETE_GRANTS, values: [clientId, ...codesOf(removed)] });
  if (added.length === 0) return;
  const isLimited = scope !== undefined && !scope.isEverything;
  demand(
    !isLimited || added.length <= GRANTS_ADDED_MAX,
    `At most ${GRANTS_ADDED_MAX} grants at once; CLIENTCODE/* grants every property of a client code.`,
  );
  await connection.query({ ...INSERT_GRANTS, values: [clientId, ...codesOf(added)] });
  if (!isLimited) return;
  const codes = [...new Set(added.map((grant) => grant.clientCode))];
  const bounds = [GRANTS_OF_CODE_MAX, CLIENTS_OF_CODE_MAX];
  const { rows } = await connection.query<{ clientCode: string }>({
    ...FIND_CROWDED,
    values: [codes, ...bounds],
  });
  demand(
    rows.length === 0,
    `${rows[0]?.clientCode} would have more than ${CLIENTS_OF_CODE_MAX} clients or ${GRANTS_OF_CODE_MAX} grants of them all, revoked ones included: use ${rows[0]?.clientCode}/*, or ask an admin of all properties.`,
  );
}

/** All settings of a client. Null rates and bursts follow the configuration. */
export interface ClientSettings extends ClientLimits {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grants: readonly Grant[];
  readonly replyToOrigins: readonly string[];
  /** Omitted: "specified". */
  readonly nulls?: NullReading;
}

/** The readings of null, the default first. */
export const NULL_READINGS = ["specified", "absent"] as const satisfies readonly NullReading[];

const NAME_CHARACTERS_MAX = 200;

/** Nodes cache all grants of a client; integrators of more hotels use CLIENTCODE/*. */
const GRANTS_MAX = 20_000;

const ORIGINS_MAX = 100;
/** A host name has at most 253. Nodes cache the origins of clients, too. */
const ORIGIN_CHARACTERS_MAX = 300;

const REQUEST_RATE_MAX = 100_000;

/** In strict mode the client's row stores the times of an hour's tokens. */
const TOKEN_BURST_MAX = 1000;

const SECRET_SECONDS_MIN = 3_600;
const SECRET_SECONDS_MAX = 730 * 86_400;

/** Seconds until a new secret expires; null means never. Throws AuthInputError outside one hour to two years. */
function checkSecretExpiry(seconds: number | undefined): number | null {
  const isGood = seconds === undefined || isWhole(seconds, SECRET_SECONDS_MIN, SECRET_SECONDS_MAX);
  demand(isGood, "The lifetime of a secret must be 1 hour to 730 days.");
  return seconds ?? null;
}

/** Validates, sorts and deduplicates the settings. Throws AuthInputError for the first invalid one, or one outside the scope. */
function checkClientSettings(settings: ClientSettings, scope: Scope | undefined): ClientSettings {
  const { name, grants, requestRate, requestBurst, tokenBurst, nulls = "specified" } = settings;
  const scopes = [...new Set(settings.scopes)];
  const replyToOrigins = [...new Set(settings.replyToOrigins)];
  const isName = name.trim() !== "" && name.length <= NAME_CHARACTERS_MAX && !/\p{Cc}/u.test(name);
  demand(
    isName && name.isWellFormed(),
    `A client's name must have 1 to ${NAME_CHARACTERS_MAX} characters and no control characters.`,
  );
  const unknown = scopes.find((scope) => !isKnownScope(scope));
  demand(unknown === undefined, `Unknown scope "${unknown}". The scopes are ${SCOPES.join(", ")}.`);
  demand(scopes.length > 0, `A client needs a scope: ${SCOPES.join(", ")}.`);
  checkGrants(grants, scopes);
  demand(scope?.covers(grants) !== false, `Name grants of your own properties: ${scope?.grants.join(", ")}.`);
  for (const [what, value, most] of [
    ["The request rate", requestRate, REQUEST_RATE_MAX],
    ["The request burst", requestBurst, REQUEST_RATE_MAX],
    ["The token burst", tokenBurst, TOKEN_BURST_MAX],
  ] as const)
    demand(value === null || isWhole(value, 1, most), `${what} must be a whole number from 1 to ${most}.`);
  demand(NULL_READINGS.includes(nulls), `nulls must be ${NULL_READINGS.join(" or ")}.`);
  demand(replyToOrigins.length <= ORIGINS_MAX, `A client can have at most ${ORIGINS_MAX} origins.`);
  for (const origin of replyToOrigins)
    demand(
      origin.length <= ORIGIN_CHARACTERS_MAX &&
        /^https?:/.test(origin) &&
        URL.parse(origin)?.origin === origin,
      `"${origin}" is not an origin: write it like https://partner.example, without a path.`,
    );
  return { ...settings, scopes: SCOPES.filter((scope) => scopes.includes(scope)), replyToOrigins, nulls };
}

function checkGrants(grants: readonly Grant[], scopes: readonly string[]): void {
  demand(
    grants.length <= GRANTS_MAX,
    `At most ${GRANTS_MAX} grants; CLIENTCODE/* grants every property of a client code.`,
  );
  for (const grant of grants) {
    const checked = checkGrant(grant);
    if (typeof checked === "string") throw new AuthInputError(checked);
  }
  demand(
    grants.length > 0 || scopesForTokens(scopes).length === 0,
    "A client that pushes or reads needs a grant: CLIENTCODE/PROPERTYCODE, or CLIENTCODE/*.",
  );
}

const EXPIRE_SECRET = namedStatement(
  "expire-secret",
  `update bellhop.client_secret
  set expires_at = least(coalesce(expires_at, 'infinity'), clock_timestamp() + make_interval(secs => $3))
  where client_id = $1 and slot = $2
  returning expires_at as "expiresAt"`,
);

/** Default overlap: a day for the partner to deploy the new secret. */
const ROTATION_OVERLAP_SECONDS = 86_400;

const OVERLAP_SECONDS_MAX = 90 * 86_400;

/** Result of a rotation. */
interface RotatedSecret {
  readonly clientId: string;
  /** Returned only here. */
  readonly clientSecret: string;
  /** When the previous secret expires; null if there was no live one. */
  readonly previousExpiresAt: Date | null;
  /** An older live secret that expired now, because a client has at most two. */
  readonly endedCreatedAt: Date | null;
}

/**
 * Creates a new secret for a client. The current one remains valid for `overlapSeconds`; 0 expires it at once (after a leak). The new one
 * expires after `expiresSeconds`, or never. Throws AuthInputError.
 */
export async function rotateSecret(
  { internals, who, scope }: AuthAdmin,
  clientId: string,
  {
    overlapSeconds = ROTATION_OVERLAP_SECONDS,
    expiresSeconds: lifetime,
  }: { readonly overlapSeconds?: number | undefined; readonly expiresSeconds?: number | undefined } = {},
): Promise<RotatedSecret> {
  demand(isWhole(overlapSeconds, 0, OVERLAP_SECONDS_MAX), "The overlap must be 0 seconds to 90 days.");
  const expiresSeconds = checkSecretExpiry(lifetime);
  return changeAuth(internals, async (change) => {
    await readForChange(change, clientId, scope);
    const { rows } = await change.connection.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
    const live = rows.filter((secret) => secret.live);
    const previous = live.at(-1);
    const ended = live.length > 1 ? live[0] : undefined;
    const slot = previous?.slot === 1 ? 2 : 1;
    const clientSecret = await putNewSecret(change, internals, clientId, slot, expiresSeconds);
    let previousExpiresAt: Date | null = null;
    if (previous !== undefined) {
      const expired = await change.connection.query<{ expiresAt: Date }>({
        ...EXPIRE_SECRET,
        values: [clientId, previous.slot, overlapSeconds],
      });
      previousExpiresAt = expired.rows[0]?.expiresAt ?? null;
    }
    const detail = { previousExpiresAt, endedCreatedAt: ended?.createdAt ?? null };
    await change.audit({ who, what: "rotate-secret", clientId, detail });
    return { clientId, clientSecret, ...detail };
  });
}

/**
 * Expires one secret of a client at once; tokens issued with it stay valid. It is identified by its creation time, because a rotation
 * reuses its slot. Throws ConflictError if the client has no such live secret.
 */
export async function endSecret(
  { internals, who, scope }: AuthAdmin,
  clientId: string,
  createdAt: string,
): Promise<void> {
  await changeAuth(internals, async (change) => {
    await readForChange(change, clientId, scope);
    const { rows } = await change.connection.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
    const secret = rows.find((each) => each.live && each.createdAt.toISOString() === createdAt);
    if (secret === undefined)
      throw new ConflictError("This secret has expired or was replaced. Nothing was changed.");
    await change.connection.query({ ...EXPIRE_SECRET, values: [clientId, secret.slot, 0] });
    await change.audit({ who, what: "end-secret", clientId, detail: { createdAt } });
  });
}
