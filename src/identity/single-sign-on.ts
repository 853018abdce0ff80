import * as oidc from "openid-client";
import type { Pool } from "pg";
import type { Config } from "../config.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { recordAudit } from "./audit.ts";
import { type OperatorSession, openSession, readEmail } from "./operators.ts";

/** An OpenID Connect provider that operators may log in with. */
export type SingleSignOnSettings = NonNullable<Config["singleSignOn"]>;

/** Why nobody was let in; the login page has the words. */
type SignOnRefusal = "provider" | "expired" | "denied" | "email" | "unknown" | "disabled" | "attempts";

export class SignOnRefused extends Error {
  readonly reason: SignOnRefusal;

  constructor(reason: SignOnRefusal, options?: ErrorOptions) {
    super(`Single sign-on was refused: ${reason}`, options);
    this.reason = reason;
  }
}

const TIMEOUT_SECONDS = 10;

/** Authorization code flow with PKCE, state and nonce, which the browser keeps in a cookie meanwhile. */
export class SingleSignOn {
  readonly #settings: SingleSignOnSettings;
  #provider: Promise<oidc.Configuration> | undefined;

  constructor(settings: SingleSignOnSettings) {
    this.#settings = settings;
  }

  /** For the button of the login page. */
  get host(): string {
    return new URL(this.#settings.issuer).host;
  }

  /** Where the browser goes, and what its cookie keeps. */
  async begin(redirectUri: string): Promise<{ readonly location: string; readonly kept: string }> {
    const provider = await this.#discover();
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const location = oidc.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri,
      scope: "openid email",
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    return { location: location.href, kept: [state, nonce, verifier].join(".") };
  }

  /** Who came back to `address`, by the cookie of the same browser. Throws SignOnRefused. */
  async complete(address: URL, kept: string): Promise<Account> {
    const [state = "", nonce = "", verifier = ""] = kept.split(".");
    if (state === "" || nonce === "" || verifier === "") throw new SignOnRefused("expired");
    const provider = await this.#discover();
    try {
      const tokens = await oidc.authorizationCodeGrant(provider, address, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims() as oidc.IDToken;
      const { sub, iss: issuer } = claims;
      const asks = claims["email"] === undefined && provider.serverMetadata().userinfo_endpoint !== undefined;
      const about = asks ? await oidc.fetchUserInfo(provider, tokens.access_token, sub) : claims;
      const { email, email_verified: isVerified } = about;
      return {
        issuer,
        subject: sub,
        email: typeof email === "string" && isVerified === true ? email : undefined,
      };
    } catch (cause) {
      const isDenied = cause instanceof oidc.AuthorizationResponseError && cause.error === "access_denied";
      throw new SignOnRefused(isDenied ? "denied" : "provider", { cause });
    }
  }

  /** The provider's addresses and keys, asked for once; again after a failure. */
  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const server = new URL(issuer);
    const execute = [oidc.enableNonRepudiationChecks];
    // Only a loopback address may be plain http (src/config.ts).
    if (server.protocol === "http:") execute.push(oidc.allowInsecureRequests);
    // Without a secret it is a public client, which PKCE alone protects.
    const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretPost(clientSecret);
    const options = { execute, timeout: TIMEOUT_SECONDS };
    this.#provider ??= oidc
      .discovery(server, clientId, undefined, authentication, options)
      .catch((cause: unknown) => {
        this.#provider = undefined;
        throw new SignOnRefused("provider", { cause });
      });
    return this.#provider;
  }
}

/** Somebody whom the provider vouches for. */
interface Account {
  readonly issuer: string;
  /** Never another person's, unlike an address. */
  readonly subject: string;
  /** As the provider verified it; undefined where it did not. */
  readonly email: string | undefined;
}

const FIND = namedStatement(
  "find-signed-on-operator",
  `select name, disabled_at is not null as "isDisabled" from bellhop.operator
  where oidc_issuer = $1 and oidc_subject = $2`,
);
/** The first login binds the account to its issuer and subject: an email address may later belong to another person. */
const BIND = namedStatement(
  "bind-operator",
  `update bellhop.operator set oidc_issuer = $1, oidc_subject = $2 where email = $3 and oidc_subject is null
  returning name, disabled_at is not null as "isDisabled"`,
);

/** Opens a session of the operator whose account it is. Throws SignOnRefused. */
export async function signOn(pool: Pool, account: Account, address: string): Promise<OperatorSession> {
  const { issuer, subject } = account;
  const email = account.email === undefined ? undefined : readEmail(account.email);
  let { rows } = await pool.query<{ name: string; isDisabled: boolean }>({
    ...FIND,
    values: [issuer, subject],
  });
  if (rows.length === 0 && email !== undefined)
    ({ rows } = await pool.query({ ...BIND, values: [issuer, subject, email] }));
  const [operator] = rows;
  const session =
    operator?.isDisabled === false ? await openSession(pool, operator.name, { subject }) : undefined;
  if (operator !== undefined && session !== undefined) {
    await recordAudit(pool, { who: `console:${operator.name}`, what: "log-in", detail: { address, issuer } });
    return session;
  }
  // An admin finds here whom to let in.
  await recordAudit(pool, {
    who: "console",
    what: "refuse-login",
    detail: { address, issuer, subject, email },
  });
  throw new SignOnRefused(operator !== undefined ? "disabled" : email === undefined ? "email" : "unknown");
}
