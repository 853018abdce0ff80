import {
  CLIENT_ID,
  count,
  duration,
  type Noun,
  type Parameter,
  parsed,
  required,
  text,
  texts,
  verb,
} from "../../cli/command.ts";
import { type Field, fields, moment, table } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import {
  type ClientSettings,
  type ClientSummary,
  createClient,
  listClients,
  revokeClient,
  rotateSecret,
  type SecretSummary,
  showClient,
  updateClient,
} from "../client-admin.ts";
import { type Grant, parseGrant, TOKEN_SCOPES } from "../permissions.ts";

const CLIENT_JSON =
  '{"client_id", "name", "scopes", "grants", "request_rate", "request_burst", "token_burst", "reply_to_origins", "created_at", "revoked_at", "last_used_at"}';
const KEPT_SECRET = "The secret is shown once. Store it, and send it over a secure channel.\n";

/** Grants as CLIENTCODE/PROPERTYCODE, the latter perhaps *. */
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

/** A limit, or `default` for the one of the settings (null). */
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
const OVERLAP = duration("how long the previous secret stays valid");
const EXPIRES = duration("when the new secret expires, such as 90d; without it never");

const grantText = ({ clientCode, propertyCode }: Grant): string => `${clientCode}/${propertyCode}`;
const joined = (all: readonly string[]): string => all.join(" ") || "-";

function clientJson(client: ClientSummary): Record<string, unknown> {
  return {
    name: client.name,
    scopes: client.scopes,
    grants: client.grants.map(grantText),
    request_rate: client.requestRate,
    request_burst: client.requestBurst,
    token_burst: client.tokenBurst,
    reply_to_origins: client.replyToOrigins,
    created_at: client.createdAt,
    revoked_at: client.revokedAt,
    last_used_at: client.lastUsedAt,
  };
}

function clientFields(clientId: string, client: ClientSummary, secret?: string): string[] {
  const figure = (value: number | null): string => (value === null ? "as configured" : String(value));
  const secretField: Field[] = secret === undefined ? [] : [["client secret", secret]];
  const revoked: Field[] = client.revokedAt === null ? [] : [["revoked", moment(client.revokedAt)]];
  return fields([
    ["client id", clientId],
    ...secretField,
    ["name", client.name],
    ["scopes", client.scopes.join(" ")],
    ["grants", joined(client.grants.map(grantText))],
    ["requests per second", figure(client.requestRate)],
    ["request burst", figure(client.requestBurst)],
    ["token burst", figure(client.tokenBurst)],
    ["reply-to origins", joined(client.replyToOrigins)],
    ["created", moment(client.createdAt)],
    ["last used", moment(client.lastUsedAt)],
    ...revoked,
  ]);
}

function secretLines(secrets: readonly SecretSummary[]): string[] {
  const rows = secrets.map(({ createdAt, lastUsedAt, expiresAt, live }) => [
    moment(createdAt),
    moment(lastUsedAt),
    expiresAt === null ? "never" : moment(expiresAt),
    live ? "live" : "ended",
  ]);
  return ["", ...table(["SECRET CREATED", "LAST USED", "EXPIRES", "STATE"], rows, "No secrets.")];
}

const create = verb({
  summary: "create a client and print its credentials once",
  details: "Without --scope the client gets every scope that a token can carry; introspect must be named.",
  options: {
    name: required(text("NAME", "name of the client, for people")),
    grant: { ...grants("property, or with * all properties of a client code"), isRequired: true },
    scope: scopes,
    ...LIMITS,
    replyToOrigin: ORIGIN,
    expires: duration("when the secret expires, such as 90d; without it never"),
  },
  examples: [
    'client create --name "Acme PMS" --grant "ACME/*"',
    'client create --name "Acme PMS" --grant ACME/LON01 --grant ACME/PAR01 --scope reservations:write --rate 50 --json',
  ],
  json: CLIENT_JSON.replace("{", '{"client_secret", '),
  run: ({ name, grant, scope, rate, burst, tokenBurst, replyToOrigin, expires }, { output, session }) =>
    session.admin(async (admin) => {
      const settings: ClientSettings = {
        name,
        scopes: scope ?? [...TOKEN_SCOPES],
        grants: grant,
        requestRate: rate ?? null,
        requestBurst: burst ?? null,
        tokenBurst: tokenBurst ?? null,
        replyToOrigins: replyToOrigin,
      };
      const { clientId, clientSecret, client } = await createClient(
        admin,
        settings,
        expires === undefined ? {} : { secretExpiresSeconds: expires },
      );
      output.result({ client_id: clientId, client_secret: clientSecret, ...clientJson(client) }, [
        `Client created. ${KEPT_SECRET}`,
        ...clientFields(clientId, client, clientSecret),
      ]);
    }),
});

const list = verb({
  summary: "list clients",
  examples: ["client list", "client list --json"],
  json: `{"clients": [${CLIENT_JSON}]}`,
  run: (_, { output, session }) =>
    session.admin(async (admin) => {
      const clients = await listClients(admin);
      const rows = clients.map(({ clientId, revokedAt, lastUsedAt, name, grants: own }) => [
        clientId,
        revokedAt === null ? "active" : "revoked",
        moment(lastUsedAt),
        name,
        own.length > 3 ? `${own.length} grants` : own.map(grantText).join(" "),
      ]);
      output.result(
        { clients: clients.map((client) => ({ client_id: client.clientId, ...clientJson(client) })) },
        table(
          ["CLIENT ID", "STATE", "LAST USED", "NAME", "GRANTS"],
          rows,
          "No clients. Create one: bellhop client create --help",
        ),
      );
    }),
});

const show = verb({
  summary: "show a client and its secrets' validity",
  args: { clientId: CLIENT_ID },
  examples: ["client show bhc_4Zt1"],
  json: CLIENT_JSON.replace(/}$/, ', "secrets": [{"createdAt", "lastUsedAt", "expiresAt", "live"}]}'),
  run: ({ clientId }, { output, session }) =>
    session.admin(async (admin) => {
      const { client, secrets } = await showClient(admin, clientId);
      const data = {
        client_id: clientId,
        ...clientJson(client),
        secrets: secrets.map(({ slot: _, ...own }) => own),
      };
      output.result(data, [...clientFields(clientId, client), ...secretLines(secrets)]);
    }),
});

const update = verb({
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
  },
  examples: [
    "client update bhc_4Zt1 --add-grant ACME/ROM01",
    "client update bhc_4Zt1 --rate 100 --burst default",
  ],
  json: CLIENT_JSON,
  run: (
    { clientId, name, addGrant, removeGrant, scope, rate, burst, tokenBurst, replyToOrigin },
    { output, session },
  ) => {
    const regrants = addGrant.length + removeGrant.length > 0;
    const changes: Partial<ClientSettings> = {
      ...(name === undefined ? {} : { name }),
      ...(scope === undefined ? {} : { scopes: scope }),
      ...(rate === undefined ? {} : { requestRate: rate }),
      ...(burst === undefined ? {} : { requestBurst: burst }),
      ...(tokenBurst === undefined ? {} : { tokenBurst }),
      ...(replyToOrigin.length === 0 ? {} : { replyToOrigins: replyToOrigin.filter(Boolean) }),
    };
    if (!regrants && Object.keys(changes).length === 0)
      throw new UsageError("Nothing to change: name at least one option.");
    return session.admin(async (admin) => {
      const edit = regrants ? { ...changes, editGrants: { added: addGrant, removed: removeGrant } } : changes;
      const client = await updateClient(admin, clientId, edit);
      output.result({ client_id: clientId, ...clientJson(client) }, clientFields(clientId, client));
    });
  },
});

const rotate = verb({
  summary: "create a new secret and let the previous one expire",
  args: { clientId: CLIENT_ID },
  options: { overlap: OVERLAP, expires: EXPIRES },
  examples: ["client rotate-secret bhc_4Zt1 --overlap 24h"],
  json: '{"client_id", "client_secret", "previous_secret_expires_at", "ended_secret_created_at"}',
  run: ({ clientId, overlap, expires }, { output, session }) =>
    session.admin(async (admin) => {
      const { clientSecret, previousExpiresAt, endedCreatedAt } = await rotateSecret(admin, clientId, {
        ...(overlap === undefined ? {} : { overlapSeconds: overlap }),
        ...(expires === undefined ? {} : { expiresSeconds: expires }),
      });
      const previous: Field[] =
        previousExpiresAt === null ? [] : [["previous secret expires", moment(previousExpiresAt)]];
      const ended: Field[] =
        endedCreatedAt === null
          ? []
          : [["ended now", `the secret created ${moment(endedCreatedAt)}: a client has at most two`]];
      output.result(
        {
          client_id: clientId,
          client_secret: clientSecret,
          previous_secret_expires_at: previousExpiresAt,
          ended_secret_created_at: endedCreatedAt,
        },
        [
          `Secret created. ${KEPT_SECRET}`,
          ...fields([["client id", clientId], ["client secret", clientSecret], ...previous, ...ended]),
        ],
      );
    }),
});

const revoke = verb({
  summary: "revoke a client: its secrets and tokens are refused from now on",
  args: { clientId: CLIENT_ID },
  examples: ["client revoke bhc_4Zt1"],
  json: '{"client_id", "revoked_at"}',
  run: ({ clientId }, { output, session }) =>
    session.admin(async (admin) => {
      const revokedAt = await revokeClient(admin, clientId);
      output.result(
        { client_id: clientId, revoked_at: revokedAt },
        `Revoked ${clientId}. Running nodes refuse its tokens within a second. Data it sent is kept.`,
      );
    }),
});

export const command: Noun = { verbs: { create, list, show, update, "rotate-secret": rotate, revoke } };
