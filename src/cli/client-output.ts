import type { ClientSummary, SecretSummary } from "../auth/client-admin.ts";
import type { Grant } from "../auth/grants.ts";
import { momentText, tableLines } from "./text-output.ts";

/** A grant as the command line takes it. */
export function grantText({ clientCode, propertyCode }: Grant): string {
  return `${clientCode}/${propertyCode}`;
}

/** A client for programs, without its id; times in ISO 8601. */
export function clientJson(client: ClientSummary): Record<string, unknown> {
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

/** A client for people. */
export function clientFields(client: ClientSummary): [string, string][] {
  const count = (value: number | null): string => (value === null ? "as configured" : String(value));
  const fields: [string, string][] = [
    ["name", client.name],
    ["scopes", client.scopes.join(" ")],
    ["grants", client.grants.length === 0 ? "-" : client.grants.map(grantText).join(" ")],
    ["requests a second", count(client.requestRate)],
    ["request burst", count(client.requestBurst)],
    ["token burst", count(client.tokenBurst)],
    ["reply-to origins", client.replyToOrigins.length === 0 ? "-" : client.replyToOrigins.join(" ")],
    ["created", momentText(client.createdAt)],
    ["last used", momentText(client.lastUsedAt)],
  ];
  if (client.revokedAt !== null) fields.push(["revoked", momentText(client.revokedAt)]);
  return fields;
}

/** The secrets of a client, as far as they may be shown: when each was made, used and ends. */
export function secretLines(secrets: readonly SecretSummary[]): string[] {
  if (secrets.length === 0) return ["", "No secrets."];
  const rows = secrets.map((secret) => [
    momentText(secret.createdAt),
    momentText(secret.lastUsedAt),
    secret.expiresAt === null ? "never" : momentText(secret.expiresAt),
    secret.live ? "live" : "ended",
  ]);
  return ["", ...tableLines(["SECRET MADE", "LAST USED", "ENDS", "STATE"], rows)];
}
