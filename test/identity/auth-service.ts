import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { type JWTPayload, SignJWT } from "jose";
import type { Pool } from "pg";
import type { AuthAdmin } from "../../src/identity/admin.ts";
import {
  type AuthConfig,
  type Authenticator,
  createAuthenticator,
} from "../../src/identity/authenticator.ts";
import { type ClientSettings, createClient } from "../../src/identity/client-admin.ts";
import { createFailureLimiter } from "../../src/identity/failure-limiter.ts";
import { registerAuthRoutes } from "../../src/identity/routes.ts";
import { clientAddressReader } from "../../src/platform/http/client-address.ts";
import { BodyBudget, leaveBodies, receiveSmallBody } from "../../src/platform/http/receive-body.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const MIB = 1_048_576;

const TEST_CONFIG: AuthConfig = {
  keyEncryptionKey: undefined,
  keyEncryptionKeysPrevious: [],
  requestRate: 50,
  requestBurst: 100,
  tokenBurst: 6,
  tokenStrictHour: false,
};

/** A node of the service with nothing but authentication: its endpoints, and `GET /protected` behind the bearer check. */
export interface AuthNode {
  readonly url: string;
  readonly pool: Pool;
  readonly authenticator: Authenticator;
  readonly admin: AuthAdmin;
  stop(): Promise<void>;
}

export async function startAuthNode(
  database: TestDatabase,
  options: { config?: Partial<AuthConfig>; authUrl?: string } = {},
): Promise<AuthNode> {
  const app = Fastify({ logger: false, forceCloseConnections: true });
  const listeningAt = (): string => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const addresses = () => ({ baseUrl: listeningAt(), authUrl: options.authUrl ?? listeningAt() });
  const authenticator = createAuthenticator({
    pool: database.pool,
    config: { ...TEST_CONFIG, ...options.config },
    log: createLogger({ level: "silent", pretty: false }),
    addresses,
  });
  await authenticator.prepare();
  leaveBodies(app);
  const bodies = { budget: new BodyBudget(MIB, MIB), clientAddress: clientAddressReader([]) };
  await registerAuthRoutes(app, {
    internals: authenticator.internals,
    addresses,
    failures: createFailureLimiter(),
    clientAddress: bodies.clientAddress,
    receiveBody: (request, bytesMax) => receiveSmallBody(bodies, request, bytesMax),
  });
  app.get("/protected", async (request, reply) => {
    const result = await authenticator.verifyBearer(request.raw.headersDistinct["authorization"]);
    if (result.kind === "absent") return reply.code(401).send();
    if (result.kind === "invalid") return reply.code(403).send();
    return { clientId: result.principal.clientId, scopes: [...result.principal.scopes] };
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    url: listeningAt(),
    pool: database.pool,
    authenticator,
    admin: { internals: authenticator.internals, who: "cli:test" },
    stop: () => app.close(),
  };
}

/** A database of its own and a node on it, both gone after the test file. */
export async function startAuthService(
  options: { config?: Partial<AuthConfig> } = {},
): Promise<AuthNode & { database: TestDatabase }> {
  const database = await createTestDatabase();
  const node = await startAuthNode(database, options);
  return {
    ...node,
    database,
    stop: async () => {
      await node.stop();
      await database.drop();
    },
  };
}

/** Creates a client; a high token burst by default, so that only tests of the bucket meet its bottom. */
export function newTestClient(admin: AuthAdmin, input: Partial<ClientSettings> = {}) {
  return createClient(admin, {
    name: "Partner",
    scopes: ["inventories:write", "reservations:write", "groups:write", "read"],
    grants: [{ clientCode: "ACME", propertyCode: "*" }],
    requestRate: null,
    requestBurst: null,
    tokenBurst: 1000,
    replyToOrigins: [],
    ...input,
  });
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Asks for a token with the credentials in the body. */
export function requestToken(
  url: string,
  { clientId, clientSecret }: Credentials,
  extra: Record<string, string> = {},
) {
  return postForm(`${url}/api/oauth2/token`, {
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: clientSecret,
    ...extra,
  });
}

export function postForm(url: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(url, { method: "POST", body: new URLSearchParams(form), headers });
}

export async function takeToken(
  url: string,
  credentials: Credentials,
  extra: Record<string, string> = {},
): Promise<string> {
  const response = await requestToken(url, credentials, extra);
  const body = (await response.json()) as { access_token: string };
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${JSON.stringify(body)}`);
  return body.access_token;
}

/** The status that a token meets at the protected address. */
export async function statusWith(url: string, token: string): Promise<number> {
  const response = await fetch(`${url}/protected`, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

/** The node's own signing key and everything a token of it says, so that a test can spoil one thing at a time. */
export async function readTokenMaking(node: AuthNode, clientId: string) {
  const key = node.authenticator.internals.directory.signingKey();
  if (key?.privateKey === undefined) throw new Error("the node has no signing key");
  const { issuer, audience } = await node.authenticator.internals.parties();
  const now = Math.floor(Date.now() / 1000);
  const claims: JWTPayload = {
    iss: issuer,
    aud: audience,
    sub: clientId,
    client_id: clientId,
    iat: now,
    exp: now + 3600,
    jti: "3f0e7a86-0000-4000-8000-000000000001",
    scope: "read",
  };
  const header = { alg: "ES256", typ: "at+jwt", kid: key.kid };
  return { privateKey: key.privateKey, publicJwk: key.publicJwk, claims, header };
}

export function signWith(
  key: KeyObject | Uint8Array,
  header: Record<string, unknown>,
  claims: JWTPayload,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader(header as { alg: string }).sign(key);
}

export function strangerKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/** Runs `check` until it is true; the test fails when that takes longer than `withinMs`. */
export async function waitUntil(check: () => Promise<boolean>, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`it did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
