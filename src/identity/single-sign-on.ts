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
/** An answer of a provider has some kilobytes, its keys some tens. */
const ANSWER_BYTES_MAX = 262_144;
/** Endpoints of a provider change seldom; this ends what it answered by mistake. */
const DISCOVERED_MS_MAX = 3_600_000;
/** A failed login asks the provider again, but no more often: anyone can cause one. */
const ASKED_AGAIN_MS_MIN = 10_000;
/** OpenID Connect Core, section 2: at most 255 ASCII characters. */
const SUBJECT_SHAPE = /^[\x20-\x7e]{1,255}$/;

/** `fetch` of an answer that is no longer than ANSWER_BYTES_MAX, also once it is decompressed: anyone at the login page causes one. */
const fetchBounded: oidc.CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > ANSWER_BYTES_MAX)
      throw new Error(`The answer of ${url} is longer than ${ANSWER_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(response.body === null ? null : Buffer.concat(chunks), { status, headers });
};

/** Authorization code flow with PKCE, state and nonce, which the browser keeps in a cookie. */
export class SingleSignOn {
  readonly #settings: SingleSignOnSettings;
  #provider: Promise<oidc.Configuration> | undefined;
  #discoveredAt = 0;
  #askedAgainAt = Number.NEGATIVE_INFINITY;

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
    const parameters = {
      redirect_uri: redirectUri,
      scope: "openid email",
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    try {
      const location = oidc.buildAuthorizationUrl(provider, parameters);
      return { location: location.href, kept: [state, nonce, verifier].join(".") };
    } catch (cause) {
      // The provider names no endpoint: it is asked again next time.
      this.#provider = undefined;
      throw new SignOnRefused("provider", { cause });
    }
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
      if (!SUBJECT_SHAPE.test(sub)) throw new SignOnRefused("provider");
      const asks = claims["email"] === undefined && provider.serverMetadata().userinfo_endpoint !== undefined;
      const about = asks ? await oidc.fetchUserInfo(provider, tokens.access_token, sub) : claims;
      const { email, email_verified: isVerified } = about;
      return {
        issuer,
        subject: sub,
        email: typeof email === "string" && isVerified === true ? email : undefined,
      };
    } catch (cause) {
      this.#askAgainAfter(cause);
      const isDenied = cause instanceof oidc.AuthorizationResponseError && cause.error === "access_denied";
      throw new SignOnRefused(isDenied ? "denied" : "provider", { cause });
    }
  }

  /** Its keys are kept for minutes, also if it has replaced them at once: the next login reads them anew. */
  #askAgainAfter(cause: unknown): void {
    if (cause instanceof oidc.AuthorizationResponseError || cause instanceof oidc.ResponseBodyError) return;
    const now = performance.now();
    if (now - this.#askedAgainAt < ASKED_AGAIN_MS_MIN) return;
    this.#askedAgainAt = now;
    this.#provider = undefined;
  }

  /** Discovers the provider's endpoints once an hour; retries after a failure. */
  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const server = new URL(issuer);
    const execute = [oidc.enableNonRepudiationChecks];
    // config.ts allows plain http only for loopback addresses.
    if (server.protocol === "http:") execute.push(oidc.allowInsecureRequests);
    // Without a secret this is a public client, protected by PKCE alone.
    const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretPost(clientSecret);
    const options = { execute, timeout: TIMEOUT_SECONDS, [oidc.customFetch]: fetchBounded };
    if (performance.now() - this.#discoveredAt > DISCOVERED_MS_MAX) this.#provider = undefined;
    if (this.#provider === undefined) this.#discoveredAt = performance.now();
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
