// Types only, from modules without Node: the console compiles them for the browser.
import type { Permission, Role } from "../identity/roles.ts";

export interface SessionAnswer {
  /** Null if nobody is logged in. */
  readonly operator: {
    readonly name: string;
    readonly role: Role;
    readonly permissions: readonly Permission[];
    /** `CLIENTCODE/PROPERTYCODE`, `CLIENTCODE/*`, or a grant for everything. */
    readonly grants: readonly string[];
    /** False: logs in only at the OpenID Connect provider. */
    readonly hasPassword: boolean;
    /** Whether a login with the password requires a code of an authenticator app. */
    readonly hasTotp: boolean;
  } | null;
  /** Null if no OpenID Connect provider is configured. */
  readonly singleSignOn: { readonly host: string } | null;
  /** Sent with every POST; null without a session. Changes with each login. */
  readonly csrfToken: string | null;
  /** Idle sessions end sooner. */
  readonly expiresAt: string | null;
  /** Seconds without a request after which the session ends. */
  readonly idleSeconds: number;
  /** False: nobody can log in yet. */
  readonly hasOperators: boolean;
  readonly version: string;
}

/** The secret of an authenticator app; `uri` is for a QR code. */
export interface TotpAnswer {
  readonly secret: string;
  readonly uri: string;
}

/** The only answer with the recovery codes; each replaces a code once. */
export interface TotpConfirmedAnswer {
  readonly recoveryCodes: readonly string[];
}
