import { createClient, listClients, revokeClient, showClient, updateClient } from "../auth/client-admin.ts";
import type { ClientSettings } from "../auth/client-input.ts";
import { type Grant, parseGrant } from "../auth/grants.ts";
import { TOKEN_SCOPES } from "../auth/scopes.ts";
import { rotateSecret } from "../auth/secret-admin.ts";
import { clientFields, clientJson, grantText, secretLines } from "./client-output.ts";
import { fieldLines, momentText, tableLines } from "./text-output.ts";
import {
  JSON_OPTION,
  readArgs,
  readCount,
  readDuration,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const SETTINGS = {
  name: { type: "string" },
  scope: { type: "string", multiple: true },
  rate: { type: "string" },
  burst: { type: "string" },
  "token-burst": { type: "string" },
  "reply-to-origin": { type: "string", multiple: true },
} as const;

const ID_OPTION = { "client-id": { type: "string" } } as const;

const create: Verb = {
  usage:
    "bellhop client create --name NAME --grant CLIENTCODE/PROPERTYCODE|CLIENTCODE/* … [--scope SCOPE …] [--rate N] [--burst N] [--token-burst N] [--reply-to-origin ORIGIN …] [--expires 90d] [--json]\n    without --scope: every scope that a token can carry; introspect only where it is named",
  async run(args, { out, withAdmin }) {
    const options = {
      ...SETTINGS,
      ...JSON_OPTION,
      grant: { type: "string", multiple: true },
      expires: { type: "string" },
    } as const;
    const { values } = readArgs({ args: [...args], options });
    if (values.name === undefined) throw new UsageError("--name is missing.");
    const settings: ClientSettings = {
      name: values.name,
      scopes: readScopes(values.scope) ?? [...TOKEN_SCOPES],
      grants: readGrants(values.grant ?? []),
      requestRate: readCount("rate", values.rate) ?? null,
      requestBurst: readCount("burst", values.burst) ?? null,
      tokenBurst: readCount("token-burst", values["token-burst"]) ?? null,
      replyToOrigins: values["reply-to-origin"] ?? [],
    };
    const secretExpiresSeconds = readDuration("expires", values.expires);
    return withAdmin(async (admin) => {
      const { clientId, clientSecret, client } = await createClient(
        admin,
        settings,
        secretExpiresSeconds === undefined ? {} : { secretExpiresSeconds },
      );
      if (values.json) {
        out(JSON.stringify({ client_id: clientId, client_secret: clientSecret, ...clientJson(client) }));
        return 0;
      }
      out(`Created the client. Its secret is shown now and never again: hand it over on a secure channel.\n`);
      const credentials = [
        ["client id", clientId],
        ["client secret", clientSecret],
      ] as const;
      for (const line of fieldLines([...credentials, ...clientFields(client)])) out(line);
      return 0;
    });
  },
};

const list: Verb = {
  usage: "bellhop client list [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: JSON_OPTION });
    return withAdmin(async (admin) => {
      const clients = await listClients(admin);
      if (values.json) {
        out(
          JSON.stringify({
            clients: clients.map((client) => ({ client_id: client.clientId, ...clientJson(client) })),
          }),
        );
      } else if (clients.length === 0) {
        out("There is no client yet. `bellhop client create --help` shows how to make one.");
      } else {
        const rows = clients.map((client) => [
          client.clientId,
          client.revokedAt === null ? "active" : "revoked",
          momentText(client.lastUsedAt),
          client.name,
          client.grants.length > 3
            ? `${client.grants.length} grants`
            : client.grants.map(grantText).join(" "),
        ]);
        for (const line of tableLines(["CLIENT ID", "STATE", "LAST USED", "NAME", "GRANTS"], rows)) out(line);
      }
      return 0;
    });
  },
};

const show: Verb = {
  usage: "bellhop client show CLIENT_ID [--json]",
  async run(args, { out, withAdmin }) {
    const { clientId, json } = readId(args);
    return withAdmin(async (admin) => {
      const { client, secrets } = await showClient(admin, clientId);
      if (json) {
        out(
          JSON.stringify({
            client_id: clientId,
            ...clientJson(client),
            secrets: secrets.map(({ slot: _, ...secret }) => secret),
          }),
        );
        return 0;
      }
      for (const line of fieldLines([["client id", clientId], ...clientFields(client)])) out(line);
      for (const line of secretLines(secrets)) out(line);
      return 0;
    });
  },
};

const update: Verb = {
  usage:
    "bellhop client update CLIENT_ID [--name NAME] [--add-grant GRANT …] [--remove-grant GRANT …] [--scope SCOPE …] [--rate N|default] [--burst N|default] [--token-burst N|default] [--reply-to-origin ORIGIN …] [--json]",
  async run(args, { out, withAdmin }) {
    const grantOptions = { type: "string", multiple: true } as const;
    const options = {
      ...SETTINGS,
      ...JSON_OPTION,
      ...ID_OPTION,
      "add-grant": grantOptions,
      "remove-grant": grantOptions,
    } as const;
    const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
    const clientId = readOne("CLIENT_ID", positionals, values["client-id"]);
    const scopes = readScopes(values.scope);
    const changes: Partial<ClientSettings> = {
      ...(values.name === undefined ? {} : { name: values.name }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(values.rate === undefined ? {} : { requestRate: countOrDefault("rate", values.rate) }),
      ...(values.burst === undefined ? {} : { requestBurst: countOrDefault("burst", values.burst) }),
      ...(values["token-burst"] === undefined
        ? {}
        : { tokenBurst: countOrDefault("token-burst", values["token-burst"]) }),
      ...(values["reply-to-origin"] === undefined
        ? {}
        : { replyToOrigins: values["reply-to-origin"].filter(Boolean) }),
    };
    const added = readGrants(values["add-grant"] ?? []);
    const removed = readGrants(values["remove-grant"] ?? []);
    const regrants = added.length + removed.length > 0;
    if (!regrants && Object.keys(changes).length === 0) throw new UsageError("There is nothing to change.");
    return withAdmin(async (admin) => {
      const edit = regrants ? { ...changes, editGrants: { added, removed } } : changes;
      const client = await updateClient(admin, clientId, edit);
      if (values.json) out(JSON.stringify({ client_id: clientId, ...clientJson(client) }));
      else for (const line of fieldLines([["client id", clientId], ...clientFields(client)])) out(line);
      return 0;
    });
  },
};

const rotate: Verb = {
  usage: "bellhop client rotate-secret CLIENT_ID [--overlap 24h] [--expires 90d] [--json]",
  async run(args, { out, withAdmin }) {
    const duration = { type: "string" } as const;
    const options = { ...JSON_OPTION, ...ID_OPTION, overlap: duration, expires: duration } as const;
    const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
    const clientId = readOne("CLIENT_ID", positionals, values["client-id"]);
    const overlapSeconds = readDuration("overlap", values.overlap);
    const expiresSeconds = readDuration("expires", values.expires);
    return withAdmin(async (admin) => {
      const rotated = await rotateSecret(admin, clientId, {
        ...(overlapSeconds === undefined ? {} : { overlapSeconds }),
        ...(expiresSeconds === undefined ? {} : { expiresSeconds }),
      });
      const { clientSecret, previousExpiresAt, endedCreatedAt } = rotated;
      if (values.json) {
        const rest = {
          previous_secret_expires_at: previousExpiresAt,
          ended_secret_created_at: endedCreatedAt,
        };
        out(JSON.stringify({ client_id: clientId, client_secret: clientSecret, ...rest }));
        return 0;
      }
      out("Made a new secret. It is shown now and never again: hand it over on a secure channel.\n");
      const fields: [string, string][] = [
        ["client id", clientId],
        ["client secret", clientSecret],
      ];
      if (previousExpiresAt !== null) fields.push(["the one before ends", momentText(previousExpiresAt)]);
      if (endedCreatedAt !== null)
        fields.push(["ended now", `the secret made ${momentText(endedCreatedAt)}: two are the most`]);
      for (const line of fieldLines(fields)) out(line);
      return 0;
    });
  },
};

const revoke: Verb = {
  usage: "bellhop client revoke CLIENT_ID [--json]",
  async run(args, { out, withAdmin }) {
    const { clientId, json } = readId(args);
    return withAdmin(async (admin) => {
      const revokedAt = await revokeClient(admin, clientId);
      const human = `Revoked ${clientId}. Running nodes refuse its tokens within a second; what it pushed stays.`;
      out(json ? JSON.stringify({ client_id: clientId, revoked_at: revokedAt }) : human);
      return 0;
    });
  },
};

const VERBS: Verbs = { create, list, show, update, "rotate-secret": rotate, revoke };

/** `bellhop client create|list|show|update|rotate-secret|revoke`: the partners' clients. Answers the exit code. */
export function clientCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("client", VERBS, args, context);
}

function readId(args: readonly string[]): { clientId: string; json: boolean } {
  const options = { ...JSON_OPTION, ...ID_OPTION };
  const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
  return { clientId: readOne("CLIENT_ID", positionals, values["client-id"]), json: values.json };
}

function readGrants(texts: readonly string[]): Grant[] {
  return texts.map((text) => {
    const grant = parseGrant(text);
    if (typeof grant === "string") throw new UsageError(grant);
    return grant;
  });
}

function readScopes(texts: readonly string[] | undefined): string[] | undefined {
  return texts?.flatMap((text) => text.split(/[\s,]+/)).filter((scope) => scope !== "");
}

function countOrDefault(name: string, text: string): number | null {
  return text === "default" ? null : (readCount(name, text) ?? null);
}
