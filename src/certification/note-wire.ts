import type { IncomingMessage } from "node:http";
import type { Resource } from "#contract/resource.ts";
import type { Principal } from "../identity/principal.ts";
import type { TokenWatch } from "../identity/token-endpoint.ts";
import type { HeaderParameters } from "../ingest/header-parameters.ts";
import type { Acceptance } from "../ingest/log/submission.ts";
import { type ErrorDetail, ServiceError } from "../platform/errors/registry.ts";
import type { HttpContext } from "../service-context.ts";
import type { WireNotes } from "./wire-notes.ts";

/** Violations kept of a refused batch. */
const VIOLATIONS_NOTED_MAX = 5;

/** While a client is certified it is told to wait for so long at least, so that haste can be told from a slow answer. */
const CERTIFIED_WAIT_SECONDS = 3;

/** What is noted of a request to a data endpoint. */
interface NotedRequest {
  readonly resource: Resource;
  readonly raw: IncomingMessage;
  readonly principal: Principal;
  readonly parameters?: HeaderParameters;
}

/** For a client under certification: a batch of it was accepted, and how it came. */
export function noteAccepted(
  { wireNotes }: HttpContext,
  { raw, principal, parameters }: NotedRequest,
  { requestId, repeated }: Acceptance,
): void {
  if (principal.certificationId === null) return;
  if (repeated) {
    wireNotes.note(principal.certificationId, { kind: "repeated", detail: { requestId } });
    return;
  }
  const encoding = raw.headers["content-encoding"] ?? null;
  const keyed = parameters?.idempotencyKey != null;
  const lenient = parameters?.lenient === true;
  if (!keyed && !lenient && encoding === null) return;
  const detail = { requestId, keyed, lenient, encoding: encoding?.slice(0, 16) ?? null };
  wireNotes.note(principal.certificationId, { kind: "sent", detail });
}

/** For a client under certification: notes when a batch of it is refused for a reason of its own. */
export function noteRefusal(
  { wireNotes }: HttpContext,
  { principal: { certificationId }, resource }: NotedRequest,
  taken: Promise<{ readonly kind: string }>,
): void {
  if (certificationId === null) return;
  const refused = (status: number, code: string, violations: readonly ErrorDetail[] = []) => {
    const detail = { resource, status, code, violations: violations.slice(0, VIOLATIONS_NOTED_MAX) };
    wireNotes.note(certificationId, { kind: "refused", detail });
  };
  taken.then(
    ({ kind }) => {
      if (kind === "foreign") refused(403, "foreign-property");
    },
    (error: unknown) => {
      if (error instanceof ServiceError && error.status < 500)
        refused(error.status, error.code, error.violations);
    },
  );
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
