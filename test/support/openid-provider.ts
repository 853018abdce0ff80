import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import type { SingleSignOnSettings } from "../../src/identity/single-sign-on.ts";

interface Account {
  readonly email: string;
  readonly email_verified: boolean;
  /** The party that the ID token says it was issued to. */
  readonly azp?: string;
}

export interface OpenIdProvider {
  /** For `startTestService`. */
  readonly settings: SingleSignOnSettings;
  /** Lets people log in to the console at this address. */
  serve(address: string): void;
  stop(): void;
}

const CLIENT = { clientId: "bellhop", clientSecret: "a secret of the provider's" } as const;

/** An OpenID Connect provider on loopback, with `accounts` by the name that its login form takes. */
export async function startOpenIdProvider(
  accounts: Readonly<Record<string, Account>>,
): Promise<OpenIdProvider> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    settings: { issuer, ...CLIENT },
    serve(address) {
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT.clientId,
            client_secret: CLIENT.clientSecret,
            token_endpoint_auth_method: "client_secret_post",
            redirect_uris: [`${address}/console/api/oidc/callback`],
            grant_types: ["authorization_code"],
            response_types: ["code"],
          },
        ],
        claims: { openid: ["sub", "azp"], email: ["email", "email_verified"] },
        pkce: { required: () => true },
        findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
      });
      server.on("request", provider.callback());
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
