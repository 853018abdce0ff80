// Types only, from modules without Node: the console compiles them for the browser.
import type { Grant } from "./grants.ts";
import type { Role } from "./roles.ts";

/** The client that something belongs to. */
export interface OfClient {
  readonly clientId: string;
  /** Null if no client has this id. */
  readonly clientName: string | null;
}

/** How null in an optional field is read: only where the specification shows it, or everywhere as if the field were omitted. */
export type NullReading = "specified" | "absent";

/** Null follows the configuration. */
export interface ClientLimits {
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly tokenBurst: number | null;
}

export interface ClientItem extends ClientLimits {
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  /** Not null: revoked permanently. */
  readonly revokedAt: string | null;
  /** To the minute. */
  readonly lastUsedAt: string | null;
  readonly grantTotal: number;
}

export interface ClientOptionsAnswer {
  readonly knownScopes: readonly string[];
  /** The scopes of a new client, and the limits that replace null. */
  readonly defaults: {
    readonly scopes: readonly string[];
    readonly requestRate: number;
    readonly requestBurst: number;
    readonly tokenBurst: number;
  };
}

export interface ClientAnswer extends ClientItem, ClientOptionsAnswer {
  /** The first 1,000 of `grantTotal`. */
  readonly grants: readonly Grant[];
  readonly replyToOrigins: readonly string[];
  readonly nulls: NullReading;
  readonly secrets: readonly SecretItem[];
}

export interface SecretItem {
  readonly slot: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly live: boolean;
}

/** The only answer with the secret. */
export interface CreateClientAnswer {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The only answer with the secret. */
export interface RotateSecretAnswer extends CreateClientAnswer {
  readonly previousExpiresAt: string | null;
  /** A third, older secret that was ended: a client has at most two. */
  readonly endedCreatedAt: string | null;
}

export interface OperatorItem {
  readonly name: string;
  readonly role: Role;
  readonly grants: readonly string[];
  readonly email: string | null;
  /** Whether the account with this email has logged in; another account with it is rejected. */
  readonly isBound: boolean;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly createdAt: string;
  readonly lastLoginAt: string | null;
  /** Not null: cannot log in. */
  readonly disabledAt: string | null;
}

/** The operators whose grants are within the requesting operator's, by name. */
export interface OperatorsAnswer {
  readonly items: readonly OperatorItem[];
  /** All roles in ascending order. */
  readonly roles: readonly Role[];
}

/** The only answer with the password; null if the operator logs in only at the OpenID Connect provider. */
export interface OperatorPasswordAnswer {
  readonly name: string;
  readonly password: string | null;
}

export interface AuditItem {
  readonly auditId: string;
  readonly occurredAt: string;
  /** `console:<operator>`, `cli:<user>`, `client:<client id>`, `service`. */
  readonly who: string;
  /** The console operator's role at the time; null for other actors. */
  readonly role: Role | null;
  /** An action name: `rotate-secret`. */
  readonly what: string;
  readonly clientId: string | null;
  /** Null if no client has this id. */
  readonly clientName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}
