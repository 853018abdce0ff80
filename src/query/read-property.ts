import { recordAudit } from "../identity/audit.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import type { HttpContext } from "../service-context.ts";

/** The codes that a reader asks about. */
export interface PropertyCodes {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/**
 * Whether the client may read this property; a refusal leaves an audit entry. Asked before anything is looked up, so that
 * the answer about a property of others is the same whether it exists or not.
 */
export async function mayRead(
  context: HttpContext,
  principal: Principal,
  codes: PropertyCodes,
): Promise<boolean> {
  if (permits(principal, codes.clientCode, codes.propertyCode)) return true;
  await recordAudit(context.pool, {
    who: `client:${principal.clientId}`,
    what: "refuse-foreign-property",
    clientId: principal.clientId,
    detail: { reading: true, clientCode: codes.clientCode, propertyCode: codes.propertyCode },
  });
  return false;
}
