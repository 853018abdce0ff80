import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { ClientCredentials } from "simple-oauth2";
import {
  type AuthNode,
  type Credentials,
  newTestClient,
  startAuthService,
  statusWith,
} from "./auth-service.ts";

/** The specification (§5.1): any OAuth 2.0 compatible HTTP client works. These three are what partners on Node use. */
describe("OAuth clients that partners use", () => {
  let node: AuthNode;
  let client: Credentials;
  before(async () => {
    node = await startAuthService();
    client = await newTestClient(node.admin);
  });
  after(() => node.stop());

  const insecure = { [oauth.allowInsecureRequests]: true };

  async function discoverByOauth4webapi(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(node.url);
    const response = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    return oauth.processDiscoveryResponse(issuer, response);
  }

  for (const [method, authenticate] of [
    ["client_secret_post", oauth.ClientSecretPost],
    ["client_secret_basic", oauth.ClientSecretBasic],
  ] as const) {
    it(`oauth4webapi discovers the server and gets a token by ${method}`, async () => {
      const server = await discoverByOauth4webapi();
      assert.ok(server.token_endpoint_auth_methods_supported?.includes(method));
      const me = { client_id: client.clientId };
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        me,
        authenticate(client.clientSecret),
        new URLSearchParams({ scope: "read" }),
        insecure,
      );
      const result = await oauth.processClientCredentialsResponse(server, me, response);
      assert.equal(result.expires_in, 3600);
      assert.equal(await statusWith(node.url, result.access_token), 200);
    });
  }

  it("oauth4webapi revokes and introspects", async () => {
    const server = await discoverByOauth4webapi();
    const operator = await newTestClient(node.admin, { scopes: ["introspect", "read"] });
    const me = { client_id: operator.clientId };
    const secret = oauth.ClientSecretBasic(operator.clientSecret);
    const granted = await oauth.clientCredentialsGrantRequest(
      server,
      me,
      secret,
      new URLSearchParams(),
      insecure,
    );
    const { access_token: token } = await oauth.processClientCredentialsResponse(server, me, granted);
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        server,
        me,
        await oauth.introspectionRequest(server, me, secret, token, insecure),
      );
    assert.equal((await introspect()).active, true);
    await oauth.processRevocationResponse(await oauth.revocationRequest(server, me, secret, token, insecure));
    assert.equal((await introspect()).active, false);
  });

  it("oauth4webapi sees the error and its description when the bucket is empty or the secret wrong", async () => {
    const server = await discoverByOauth4webapi();
    const poor = await newTestClient(node.admin, { tokenBurst: 1 });
    const ask = async (secret: string) => {
      const me = { client_id: poor.clientId };
      const authentication = oauth.ClientSecretPost(secret);
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        me,
        authentication,
        new URLSearchParams(),
        insecure,
      );
      return oauth.processClientCredentialsResponse(server, me, response);
    };
    await ask(poor.clientSecret);
    await assert.rejects(ask(poor.clientSecret), (error: oauth.ResponseBodyError) => {
      assert.equal(error.error, "temporarily_unavailable");
      assert.match(
        String(error.error_description),
        /^rate limit exceeded: 1 of 1 tokens are used; the next one/,
      );
      return error.status === 429;
    });
    await assert.rejects(
      ask("bhs_wrong"),
      (error: oauth.WWWAuthenticateChallengeError) => error.status === 401,
    );
  });

  it("openid-client discovers the server, gets a token and revokes it", async () => {
    const configuration = await openid.discovery(
      new URL(node.url),
      client.clientId,
      client.clientSecret,
      undefined,
      {
        algorithm: "oauth2",
        execute: [openid.allowInsecureRequests],
      },
    );
    const tokens = await openid.clientCredentialsGrant(configuration, { scope: "inventories:write" });
    assert.equal(tokens.expires_in, 3600);
    assert.equal(tokens.scope, "inventories:write");
    assert.equal(await statusWith(node.url, tokens.access_token), 200);
    await openid.tokenRevocation(configuration, tokens.access_token);
    assert.equal(await statusWith(node.url, tokens.access_token), 403);
  });

  for (const authorizationMethod of ["header", "body"] as const) {
    it(`simple-oauth2 gets a token with the credentials in the ${authorizationMethod}`, async () => {
      const tool = new ClientCredentials({
        client: { id: client.clientId, secret: client.clientSecret },
        auth: { tokenHost: node.url, tokenPath: "/api/oauth2/token" },
        options: { authorizationMethod },
      });
      const { token } = await tool.getToken({ scope: ["read"] });
      assert.equal(token["token_type"], "Bearer");
      assert.equal(await statusWith(node.url, String(token["access_token"])), 200);
    });
  }

  it("a resource server verifies tokens with the published keys and metadata (RFC 9068 §4)", async () => {
    const server = await discoverByOauth4webapi();
    const me = { client_id: client.clientId };
    const secret = oauth.ClientSecretPost(client.clientSecret);
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      me,
      secret,
      new URLSearchParams(),
      insecure,
    );
    const { access_token: token } = await oauth.processClientCredentialsResponse(server, me, response);
    const keys = createRemoteJWKSet(new URL(String(server.jwks_uri)));
    const { payload } = await jwtVerify(token, keys, {
      issuer: server.issuer,
      typ: "at+jwt",
      algorithms: ["ES256"],
    });
    assert.equal(payload.sub, client.clientId);
  });
});
