import {
  CLIENT_ID,
  choice,
  count,
  duration,
  type Noun,
  type Parameter,
  parsed,
  required,
  text,
  texts,
} from "../../cli/command.ts";
import { type Columns, type Field, fields, itemTable, moment, snakeCase } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import {
  type ClientSettings,
  type ClientSummary,
  createClient,
  listClients,
  NULL_READINGS,
  revokeClient,
  rotateSecret,
  type SecretSummary,
  showClient,
  updateClient,
} from "../client-admin.ts";
import { type Grant, parseGrant } from "../grants.ts";
import { TOKEN_SCOPES } from "../scopes.ts";
import { adminVerb } from "./administer.ts";

const CLIENT_JSON =
  '{"client_id", "name", "scopes", "grants", "request_rate", "request_burst", "token_burst", "reply_to_origins", "nulls", "created_at", "revoked_at", "last_used_at"}';
const KEPT_SECRET = "The secret is shown once. Store it, and send it over a secure channel.\n";

/** Parameter for grants written as CLIENTCODE/PROPERTYCODE or CLIENTCODE/*. */
function grants(help: string): Parameter<Grant[]> {
  return {
    ...texts("CLIENTCODE/PROPERTYCODE|*", help),
    read: (given) =>
      given.map((one) => {
        const grant = parseGrant(one);
        if (typeof grant === "string") throw new UsageError(grant);
        return grant;
      }),
  };
}

/** Parameter for a limit; `default` (null) follows the configuration. */
function limit(help: string): Parameter<number | null | undefined> {
  return parsed("N|default", `${help} (default: as configured)`, (given, name) =>
    given === "default" ? null : count("").read([given], name),
  );
}

export const scopes: Parameter<string[] | undefined> = {
  ...texts("SCOPE", "one scope, or several separated by commas"),
  read: (given) =>
    given.length === 0 ? undefined : given.flatMap((one) => one.split(/[\s,]+/)).filter(Boolean),
};

const LIMITS = {
  rate: limit("requests per second"),
  burst: limit("burst of requests"),
  tokenBurst: limit("burst of token requests"),
};
const ORIGIN = texts("ORIGIN", "origin that ReplyTo addresses may have, such as https://pms.example");
const NULLS = choice(
  "READING",
  NULL_READINGS,
  "null in optional fields: valid only where the specification shows it, or read as if the field were absent",
);
const OVERLAP = duration("how long the previous secret stays valid");
const EXPIRES = duration("when the new secret expires, such as 90d; without it never");

const grantText = ({ clientCode, propertyCode }: Grant): string => `${clientCode}/${propertyCode}`;
const joined = (all: readonly string[]): string => all.join(" ") || "-";

const clientJson = (client: ClientSummary) => snakeCase({ ...client, grants: client.grants.map(grantText) });

function clientFields(client: ClientSummary, secret?: string): string[] {
  const figure = (value: number | null): string => (value === null ? "as configured" : String(value));
  const secretField: Field[] = secret === undefined ? [] : [["client secret", secret]];
  const revoked: Field[] = client.revokedAt === null ? [] : [["revoked", moment(client.revokedAt)]];
  return fields([
    ["client id", client.clientId],
    ...secretField,
    ["name", client.name],
    ["scopes", client.scopes.join(" ")],
    ["grants", joined(client.grants.map(grantText))],
    ["requests per second", figure(client.requestRate)],
    ["request burst", figure(client.requestBurst)],
    ["token burst", figure(client.tokenBurst)],
    ["reply-to origins", joined(client.replyToOrigins)],
    ["null in optional fields", client.nulls],
    ["created", moment(client.createdAt)],
    ["last used", moment(client.lastUsedAt)],
    ...revoked,
  ]);
}

function secretLines(secrets: readonly SecretSummary[]): string[] {
  const columns: Columns<SecretSummary> = {
    "SECRET CREATED": "createdAt",
    "LAST USED": "lastUsedAt",
    EXPIRES: ({ expiresAt }) => expiresAt ?? "never",
    STATE: ({ live }) => (live ? "live" : "ended"),
  };
  return ["", ...itemTable(columns, secrets, "No secrets.")];
}

const create = adminVerb({
  summary: "create a client and print its credentials once",
  details: "Without --scope the client gets every scope that a token can carry; introspect must be named.",
  options: {
    name: required(text("NAME", "display name of the client")),
    grant: required(grants("property, or with * all properties of a client code")),
    scope: scopes,
    ...LIMITS,
    replyToOrigin: ORIGIN,
    nulls: NULLS,
    expires: duration("when the secret expires, such as 90d; without it never"),
  },
  examples: [
    'client create --name "Acme PMS" --grant "ACME/*"',
    'client create --name "Acme PMS" --grant ACME/LON01 --grant ACME/PAR01 --scope reservations:write --rate 50 --json',
  ],
  json: CLIENT_JSON.replace("{", '{"client_secret", '),
  async admin(given, admin, { output }) {
    const { name, grant, scope, rate, burst, tokenBurst, replyToOrigin, nulls, expires } = given;
    const settings: ClientSettings = {
      name,
      scopes: scope ?? [...TOKEN_SCOPES],
      grants: grant,
      requestRate: rate ?? null,
      requestBurst: burst ?? null,
      tokenBurst: tokenBurst ?? null,
      replyToOrigins: replyToOrigin,
      ...(nulls === undefined ? {} : { nulls }),
    };
    const { clientId, clientSecret, client } = await createClient(admin, settings, {
      secretExpiresSeconds: expires,
    });
    output.result({ client_id: clientId, client_secret: clientSecret, ...clientJson(client) }, [
      `Client created. ${KEPT_SECRET}`,
      ...clientFields(client, clientSecret),
    ]);
  },
});

const list = adminVerb({
  summary: "list clients",
  examples: ["client list", "client list --json"],
  json: `{"clients": [${CLIENT_JSON}]}`,
  async admin(_, admin, { output }) {
    const clients = await listClients(admin);
    const columns: Columns<ClientSummary> = {
      "CLIENT ID": "clientId",
      STATE: ({ revokedAt }) => (revokedAt === null ? "active" : "revoked"),
      "LAST USED": "lastUsedAt",
      NAME: "name",
      GRANTS: ({ grants: own }) => (own.length > 3 ? `${own.length} grants` : own.map(grantText).join(" ")),
    };
    const empty = "No clients. Create one: bellhop client create --help";
    output.result({ clients: clients.map(clientJson) }, itemTable(columns, clients, empty));
  },
});

const show = adminVerb({
  summary: "show a client and its secrets' validity",
  args: { clientId: CLIENT_ID },
  examples: ["client show bhc_4Zt1"],
  json: CLIENT_JSON.replace(/}$/, ', "secrets": [{"createdAt", "lastUsedAt", "expiresAt", "live"}]}'),
  async admin({ clientId }, admin, { output }) {
    const { client, secrets } = await showClient(admin, clientId);
    const data = { ...clientJson(client), secrets: secrets.map(({ slot: _, ...own }) => own) };
    output.result(data, [...clientFields(client), ...secretLines(secrets)]);
  },
});

const update = adminVerb({
  summary: "change a client",
  details: "--scope and --reply-to-origin replace the whole list; --reply-to-origin '' empties it.",
  args: { clientId: CLIENT_ID },
  options: {
    name: text("NAME", "new name"),
    addGrant: grants("grant to add"),
    removeGrant: grants("grant to remove"),
    scope: scopes,
    ...LIMITS,
    replyToOrigin: ORIGIN,
    nulls: NULLS,
  },
  examples: [
    "client update bhc_4Zt1 --add-grant ACME/ROM01",
    "client update bhc_4Zt1 --nulls absent",
    "client update bhc_4Zt1 --rate 100 --burst default",
  ],
  json: CLIENT_JSON,
  check: ({ name, addGrant, removeGrant, scope, rate, burst, tokenBurst, replyToOrigin, nulls }) => {
    const given = [
      name,
      scope,
      rate,
      burst,
      tokenBurst,
      nulls,
      ...addGrant,
      ...removeGrant,
      ...replyToOrigin,
    ];
    if (given.every((value) => value === undefined))
      throw new UsageError("Nothing to change: name at least one option.");
  },
  async admin(given, admin, { output }) {
    const { name, scope, rate, burst, tokenBurst, replyToOrigin, nulls } = given;
    const { addGrant: added, removeGrant: removed } = given;
    const client = await updateClient(admin, given.clientId, {
      name,
      scopes: scope,
      requestRate: rate,
      requestBurst: burst,
      tokenBurst,
      replyToOrigins: replyToOrigin.length === 0 ? undefined : replyToOrigin.filter(Boolean),
      nulls,
      editGrants: added.length + removed.length === 0 ? undefined : { added, removed },
    });
    output.result(clientJson(client), clientFields(client));
  },
});

const rotate = adminVerb({
  summary: "create a new secret and let the previous one expire",
  args: { clientId: CLIENT_ID },
  options: { overlap: OVERLAP, expires: EXPIRES },
  examples: ["client rotate-secret bhc_4Zt1 --overlap 24h"],
  json: '{"client_id", "client_secret", "previous_secret_expires_at", "ended_secret_created_at"}',
  async admin({ clientId, overlap, expires }, admin, { output }) {
    const options = { overlapSeconds: overlap, expiresSeconds: expires };
    const { clientSecret, previousExpiresAt, endedCreatedAt } = await rotateSecret(admin, clientId, options);
    const previous: Field[] =
      previousExpiresAt === null ? [] : [["previous secret expires", moment(previousExpiresAt)]];
    const ended: Field[] =
      endedCreatedAt === null
        ? []
        : [["ended now", `the secret created ${moment(endedCreatedAt)}: a client has at most two`]];
    const data = {
      client_id: clientId,
      client_secret: clientSecret,
      previous_secret_expires_at: previousExpiresAt,
      ended_secret_created_at: endedCreatedAt,
    };
    output.result(data, [
      `Secret created. ${KEPT_SECRET}`,
      ...fields([["client id", clientId], ["client secret", clientSecret], ...previous, ...ended]),
    ]);
  },
});

const revoke = adminVerb({
  summary: "revoke a client: its secrets and tokens are refused from now on",
  args: { clientId: CLIENT_ID },
  examples: ["client revoke bhc_4Zt1"],
  json: '{"client_id", "revoked_at"}',
  async admin({ clientId }, admin, { output }) {
    const revokedAt = await revokeClient(admin, clientId);
    output.result(
      { client_id: clientId, revoked_at: revokedAt },
      `Revoked ${clientId}. Running nodes refuse its tokens within a second. Data it sent is kept.`,
    );
  },
});

export const command: Noun = { verbs: { create, list, show, update, "rotate-secret": rotate, revoke } };
