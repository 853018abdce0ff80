import { AuthInputError } from "./admin.ts";
import { checkGrant, type Grant } from "./grants.ts";
import { isKnownScope, SCOPES, scopesForTokens } from "./scopes.ts";

/** Everything of a client that an operator decides. Null rates and bursts follow the configuration. */
export interface ClientSettings {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grants: readonly Grant[];
  /** Requests a second. */
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly tokenBurst: number | null;
  readonly replyToOrigins: readonly string[];
}

const NAME_CHARACTERS_MAX = 200;

/** A client's grants travel to every node that sees it; an integrator of more hotels gets them by CLIENTCODE/*. */
const GRANTS_MAX = 20_000;

const ORIGINS_MAX = 100;

const REQUEST_RATE_MAX = 100_000;

/** The strict variant keeps the times of an hour's tokens in the client's row. */
const TOKEN_BURST_MAX = 1000;

const SECRET_SECONDS_MIN = 3_600;
const SECRET_SECONDS_MAX = 730 * 86_400;

/** Seconds until a new secret ends by itself; null for never. Throws AuthInputError outside an hour to two years. */
export function checkSecretExpiry(seconds: number | undefined): number | null {
  if (seconds === undefined) return null;
  if (!Number.isInteger(seconds) || seconds < SECRET_SECONDS_MIN || seconds > SECRET_SECONDS_MAX) {
    throw new AuthInputError("A secret that ends by itself lives an hour to 730 days.");
  }
  return seconds;
}

/** Gives the settings back in order and without repetition. Throws AuthInputError for the first that cannot be. */
export function checkClientSettings(settings: ClientSettings): ClientSettings {
  const scopes = [...new Set(settings.scopes)];
  checkName(settings.name);
  checkScopes(scopes);
  checkGrants(settings.grants, scopes);
  checkNumber("The request rate", settings.requestRate, REQUEST_RATE_MAX);
  checkNumber("The request burst", settings.requestBurst, REQUEST_RATE_MAX);
  checkNumber("The token burst", settings.tokenBurst, TOKEN_BURST_MAX);
  const replyToOrigins = [...new Set(settings.replyToOrigins)];
  if (replyToOrigins.length > ORIGINS_MAX) throw new AuthInputError(`At most ${ORIGINS_MAX} origins.`);
  for (const origin of replyToOrigins) checkOrigin(origin);
  return { ...settings, scopes: SCOPES.filter((scope) => scopes.includes(scope)), replyToOrigins };
}

function checkName(name: string): void {
  if (
    name.trim() === "" ||
    name.length > NAME_CHARACTERS_MAX ||
    /\p{Cc}/u.test(name) ||
    !name.isWellFormed()
  ) {
    throw new AuthInputError(
      `A client's name has 1 to ${NAME_CHARACTERS_MAX} characters and no control characters.`,
    );
  }
}

function checkScopes(scopes: readonly string[]): void {
  const unknown = scopes.find((scope) => !isKnownScope(scope));
  if (unknown !== undefined) {
    throw new AuthInputError(`There is no scope "${unknown}". The scopes are ${SCOPES.join(", ")}.`);
  }
  if (scopes.length === 0) throw new AuthInputError(`A client needs a scope: ${SCOPES.join(", ")}.`);
}

function checkGrants(grants: readonly Grant[], scopes: readonly string[]): void {
  if (grants.length > GRANTS_MAX) {
    throw new AuthInputError(
      `At most ${GRANTS_MAX} grants; CLIENTCODE/* grants every property of a client code.`,
    );
  }
  for (const grant of grants) {
    const checked = checkGrant(grant);
    if (typeof checked === "string") throw new AuthInputError(checked);
  }
  if (grants.length === 0 && scopesForTokens(scopes).length > 0) {
    throw new AuthInputError(
      "A client that pushes or reads needs a grant: CLIENTCODE/PROPERTYCODE, or CLIENTCODE/*.",
    );
  }
}

function checkNumber(what: string, value: number | null, max: number): void {
  if (value === null || (Number.isInteger(value) && value >= 1 && value <= max)) return;
  throw new AuthInputError(`${what} is a whole number from 1 to ${max}.`);
}

function checkOrigin(origin: string): void {
  const url = URL.parse(origin);
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (isHttp && url.origin === origin) return;
  throw new AuthInputError(
    `"${origin}" is not an origin: write it like https://partner.example, without a path.`,
  );
}
