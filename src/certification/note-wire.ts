import type { IncomingMessage } from "node:http";
import type { Resource } from "#contract/resource.ts";
import type { Principal } from "../identity/permissions.ts";
import type { TokenWatch } from "../identity/token-endpoint.ts";
import type { Acceptance } from "../ingest/log/accept-log.ts";
import type { ErrorDetail } from "../platform/errors/registry.ts";
import type { HttpContext } from "../service-context.ts";
import type { WireNotes } from "./wire-notes.ts";

/** Violations kept of a refused batch. */
const VIOLATIONS_NOTED_MAX = 5;

/** While a client is certified it is told to wait for so long at least, so that haste can be told from a slow answer. */
const CERTIFIED_WAIT_SECONDS = 3;

/** What is noted of a request to a data endpoint. */
interface NotedRequest {
  readonly endpoint: { readonly resource: Resource };
  readonly raw: IncomingMessage;
  /** Undefined before the request was let in: nothing is noted of it then. */
  readonly principal: Principal | undefined;
  readonly parameters: { readonly idempotencyKey: string | null; readonly lenient: boolean } | undefined;
}

/** For a client under certification: a batch of it was accepted, and how it came. */
export function noteAccepted(
  { wireNotes }: HttpContext,
  { raw, principal, parameters }: NotedRequest,
  { requestId, repeated }: Acceptance,
): void {
  const certificationId = principal?.certificationId ?? null;
  if (certificationId === null) return;
  if (repeated) {
    wireNotes.note(certificationId, { kind: "repeated", detail: { requestId } });
    return;
  }
  const encoding = raw.headers["content-encoding"] ?? null;
  const keyed = parameters?.idempotencyKey != null;
  const lenient = parameters?.lenient === true;
  if (!keyed && !lenient && encoding === null) return;
  const detail = { requestId, keyed, lenient, encoding: encoding?.slice(0, 16) ?? null };
  wireNotes.note(certificationId, { kind: "sent", detail });
}

/** For a client under certification: a batch of it was refused for a reason of its own. */
export function noteRefusal(
  { wireNotes }: HttpContext,
  { principal, endpoint: { resource } }: NotedRequest,
  { status, code, violations = [] }: Refused,
): void {
  const certificationId = principal?.certificationId ?? null;
  if (certificationId === null || status >= 500) return;
  const detail = { resource, status, code, violations: violations.slice(0, VIOLATIONS_NOTED_MAX) };
  wireNotes.note(certificationId, { kind: "refused", detail });
}

/** What a batch was refused with. */
interface Refused {
  readonly status: number;
  readonly code: string;
  readonly violations?: readonly ErrorDetail[] | undefined;
}

/** How long a client that was too fast is to wait, in seconds; of one under certification it is noted. */
export function waitAfterTooMany(
  { wireNotes }: HttpContext,
  certificationId: string | null,
  retryAfterSeconds: number,
): number {
  if (certificationId === null) return retryAfterSeconds;
  const wait = Math.max(retryAfterSeconds, CERTIFIED_WAIT_SECONDS);
  wireNotes.note(certificationId, { kind: "rate-limited", detail: { retryAfterSeconds: wait } });
  return wait;
}

/** What the token endpoint tells of clients under certification. */
export function tokenWatchOf(notes: WireNotes): TokenWatch {
  return {
    granted: (certificationId, seconds) =>
      notes.note(certificationId, { kind: "token", detail: { seconds } }),
    limited: (certificationId) => notes.note(certificationId, { kind: "token-limited", detail: {} }),
  };
}
