import type { NullReading } from "./console-answers.ts";
import { type Grants, grantsInclude } from "./grants.ts";

/** The calling client and its current permissions. */
export interface Principal {
  readonly clientId: string;
  /** The token's scopes that the client still has. */
  readonly scopes: ReadonlySet<string>;
  readonly grants: Grants;
  /** Requests per second. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** Origins allowed in `ReplyTo`, such as `https://partner.example`. */
  readonly replyToOrigins: readonly string[];
  readonly nulls: NullReading;
  /** The client's open certification, which records evidence from its requests; null if there is none. */
  readonly certificationId: string | null;
}

/** Whether the principal may push and read this property. Codes are compared byte for byte. */
export function permits(principal: Principal, clientCode: string, propertyCode: string): boolean {
  return grantsInclude(principal.grants, clientCode, propertyCode);
}

/** Whether both the token and the client have the scope. */
export function hasScope(principal: Principal, scope: string): boolean {
  return principal.scopes.has(scope);
}
