import type { Principal } from "../identity/permissions.ts";
import type { TokenWatch } from "../identity/token-endpoint.ts";
import type { BatchWatch } from "../ingest/data-context.ts";
import type { WireNotes } from "./wire-notes.ts";

const VIOLATIONS_NOTED_MAX = 5;

/** Minimum Retry-After of a client under certification, to distinguish an early retry from a slow response. */
const CERTIFIED_WAIT_SECONDS = 3;

/** Records the batches of clients under certification. */
export function batchWatchOf(notes: WireNotes): BatchWatch {
  return {
    accepted({ raw, principal, parameters }, { requestId, repeated }) {
      const certificationId = principal?.certificationId ?? null;
      if (certificationId === null) return;
      if (repeated) {
        notes.note(certificationId, { kind: "repeated", detail: { requestId } });
        return;
      }
      const encoding = raw.headers["content-encoding"] ?? null;
      const keyed = parameters?.idempotencyKey != null;
      const lenient = parameters?.lenient === true;
      if (!keyed && !lenient && encoding === null) return;
      const detail = { requestId, keyed, lenient, encoding: encoding?.slice(0, 16) ?? null };
      notes.note(certificationId, { kind: "sent", detail });
    },
    /** Not recorded if the service failed. */
    refused({ principal, endpoint: { resource } }, { status, code, violations = [] }) {
      const certificationId = principal?.certificationId ?? null;
      if (certificationId === null || status >= 500) return;
      const detail = { resource, status, code, violations: violations.slice(0, VIOLATIONS_NOTED_MAX) };
      notes.note(certificationId, { kind: "refused", detail });
    },
  };
}

/** The wait after a 429 in seconds; recorded for a client under certification. */
export function waitAfterTooManyBy(notes: WireNotes) {
  return ({ certificationId }: Principal, retryAfterSeconds: number): number => {
    if (certificationId === null) return retryAfterSeconds;
    const wait = Math.max(retryAfterSeconds, CERTIFIED_WAIT_SECONDS);
    notes.note(certificationId, { kind: "rate-limited", detail: { retryAfterSeconds: wait } });
    return wait;
  };
}

/** Records the tokens of clients under certification. */
export function tokenWatchOf(notes: WireNotes): TokenWatch {
  return {
    granted: (certificationId, seconds) =>
      notes.note(certificationId, { kind: "token", detail: { seconds } }),
    limited: (certificationId) => notes.note(certificationId, { kind: "token-limited", detail: {} }),
  };
}
