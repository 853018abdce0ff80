import * as oidc from "openid-client";
import type { Pool } from "pg";
import type { Config } from "../config.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { recordAudit } from "./audit.ts";
import { type OperatorSession, openSession } from "./operator-sessions.ts";
import { readEmail } from "./operators.ts";

/** An OpenID Connect provider for operator logins. */
export type SingleSignOnSettings = NonNullable<Config["singleSignOn"]>;

/** Why a login was refused; the login page has the texts. */
type SignOnRefusal = "provider" | "expired" | "denied" | "email" | "unknown" | "disabled" | "attempts";

export class SignOnRefused extends Error {
  readonly reason: SignOnRefusal;

  constructor(reason: SignOnRefusal, options?: ErrorOptions) {
    super(`Single sign-on was refused: ${reason}`, options);
    this.reason = reason;
  }
}

const TIMEOUT_SECONDS = 10;

/** Authorization code flow with PKCE, state and nonce, which the browser keeps in a cookie. */
export class SingleSignOn {
  readonly #settings: SingleSignOnSettings;
  #provider: Promise<oidc.Configuration> | undefined;

  constructor(settings: SingleSignOnSettings) {
    this.#settings = settings;
  }

  /** Shown on the login page's button. */
  get host(): string {
    return new URL(this.#settings.issuer).host;
  }

  /** The URL to redirect to and the value of the cookie. */
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

  /** Completes the login with the callback `address` and the cookie. Throws SignOnRefused. */
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
      const { sub, iss: issuer, azp } = claims;
      // Issued to another client of the provider (OpenID Connect Core, section 3.1.3.7), which our audience does not exclude.
      if (azp !== undefined && azp !== this.#settings.clientId) throw new SignOnRefused("provider");
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

  /** Discovers the provider's endpoints and keys once; retries after a failure. */
  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const server = new URL(issuer);
    const execute = [oidc.enableNonRepudiationChecks];
    // config.ts allows plain http only for loopback addresses.
    if (server.protocol === "http:") execute.push(oidc.allowInsecureRequests);
    // Without a secret this is a public client, protected by PKCE alone.
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

/** An account authenticated by the provider. */
interface Account {
  readonly issuer: string;
  /** Unlike an email address, never reassigned. */
  readonly subject: string;
  /** Verified by the provider; undefined otherwise. */
  readonly email: string | undefined;
}

const FIND = namedStatement(
  "find-signed-on-operator",
  `select name, disabled_at is not null as "isDisabled" from bellhop.operator
  where oidc_issuer = $1 and oidc_subject = $2`,
);
/** Binds the operator to issuer and subject at the first login, because an email address may be reassigned. */
const BIND = namedStatement(
  "bind-operator",
  `update bellhop.operator set oidc_issuer = $1, oidc_subject = $2 where email = $3 and oidc_subject is null
  returning name, disabled_at is not null as "isDisabled"`,
);

/** Opens a session for the account's operator. Throws SignOnRefused. */
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
  // The audit shows an admin which account to admit.
  await recordAudit(pool, {
    who: "console",
    what: "refuse-login",
    detail: { address, issuer, subject, email },
  });
  throw new SignOnRefused(operator !== undefined ? "disabled" : email === undefined ? "email" : "unknown");
}
