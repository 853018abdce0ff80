import { type Grants, grantsInclude } from "./grants.ts";

/** Who is calling, and what that client may do at this moment. */
export interface Principal {
  readonly clientId: string;
  /** The token's scopes that the client still has. */
  readonly scopes: ReadonlySet<string>;
  readonly grants: Grants;
  /** Requests a second. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** Origins to which the client may have answers sent (`ReplyTo`), such as `https://partner.example`. */
  readonly replyToOrigins: readonly string[];
  /** The certification of the client that is open: what it does on the wire is noted. Null where none is. */
  readonly certificationId: string | null;
}

/** True when the principal may push and read this property. Compared byte for byte, as codes are. */
export function permits(principal: Principal, clientCode: string, propertyCode: string): boolean {
  return grantsInclude(principal.grants, clientCode, propertyCode);
}

/** True when both the token and the client have the scope. */
export function hasScope(principal: Principal, scope: string): boolean {
  return principal.scopes.has(scope);
}
