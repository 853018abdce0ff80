import type { IncomingMessage } from "node:http";
import type { Resource } from "#contract/resource.ts";
import type { Principal } from "../identity/permissions.ts";
import type { TokenWatch } from "../identity/token-endpoint.ts";
import type { Acceptance } from "../ingest/log/accept-log.ts";
import type { ErrorDetail } from "../platform/errors/registry.ts";
import type { HttpContext } from "../service-context.ts";
import type { WireNotes } from "./wire-notes.ts";

const VIOLATIONS_NOTED_MAX = 5;

/** Minimum Retry-After of a client under certification, to distinguish an early retry from a slow response. */
const CERTIFIED_WAIT_SECONDS = 3;

interface NotedRequest {
  readonly endpoint: { readonly resource: Resource };
  readonly raw: IncomingMessage;
  /** Undefined before the request is authorised; then nothing is recorded. */
  readonly principal: Principal | undefined;
  readonly parameters: { readonly idempotencyKey: string | null; readonly lenient: boolean } | undefined;
}

export function noteAccepted(
  { wireNotes }: HttpContext,
  { raw, principal, parameters }: NotedRequest,
  { requestId, repeated }: Pick<Acceptance, "requestId" | "repeated">,
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

/** Records a refused batch of a client under certification, unless the service failed. */
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

interface Refused {
  readonly status: number;
  readonly code: string;
  readonly violations?: readonly ErrorDetail[] | undefined;
}

/** The wait after a 429 in seconds; recorded for a client under certification. */
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

/** Records the tokens of clients under certification. */
export function tokenWatchOf(notes: WireNotes): TokenWatch {
  return {
    granted: (certificationId, seconds) =>
      notes.note(certificationId, { kind: "token", detail: { seconds } }),
    limited: (certificationId) => notes.note(certificationId, { kind: "token-limited", detail: {} }),
  };
}
