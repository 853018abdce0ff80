import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { didYouMean } from "#contract/nearest.ts";
import { quoted } from "#contract/violation.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { isUuid } from "../platform/http/position.ts";
import { preferenceOf } from "../platform/http/preferences.ts";

/** The optional headers of a POST to a data endpoint. */
export interface HeaderParameters {
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  /** In lower case. */
  readonly backfillId: string | null;
  readonly lenient: boolean;
  /** Value of the Preference-Applied header; null if the request has no handling preference. */
  readonly preferenceApplied: string | null;
}

type Headers = Pick<IncomingMessage, "headers" | "rawHeaders">;

/** Reads the header parameters. Throws ServiceError `bellhop.http.InvalidHeader` (422). */
export function readHeaderParameters(request: Headers): HeaderParameters {
  const handling = handlingOf(request.headers);
  return {
    idempotencyKey: visibleText(request, "idempotency-key", 255, "Idempotency-Key"),
    correlationId: visibleText(request, "x-correlation-id", 128, "X-Correlation-Id"),
    replyTo: replyToOf(request),
    backfillId: backfillIdOf(request),
    lenient: handling === "lenient",
    preferenceApplied: handling === null ? null : `handling=${handling}`,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidHeader", { message });
}

/** `shown`: the name for messages. */
function visibleText(request: Headers, name: string, charactersMax: number, shown: string): string | null {
  const value = request.headers[name];
  if (typeof value !== "string") return null;
  if (value.length > charactersMax || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw invalid(`${shown} must be 1 to ${charactersMax} visible ASCII characters, spaces only within.`);
  }
  // Node joins a repeated header with ", ", which one value may contain too.
  if (value.includes(", ") && countOf(request.rawHeaders, name) > 1)
    throw invalid(`${shown} must be sent once.`);
  return value;
}

function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name).length;
}

function backfillIdOf(request: Headers): string | null {
  const value = visibleText(request, "backfill-id", 36, "Backfill-Id")?.toLowerCase() ?? null;
  if (value !== null && !isUuid(value)) throw invalid("Backfill-Id must be the UUID of a backfill.");
  return value;
}

function replyToOf(request: Headers): string | null {
  const value = visibleText(request, "replyto", 2_048, "ReplyTo");
  if (value === null) return null;
  const address = URL.parse(value);
  // The address is visible to everyone who may read the request.
  if (address === null || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw invalid("ReplyTo must be an absolute http or https address without a user name or password.");
  }
  return value;
}

/** The `handling` preference (RFC 7240, section 4.4); unknown values are ignored, as the RFC requires. */
function handlingOf(headers: IncomingHttpHeaders): "lenient" | "strict" | null {
  const handling = preferenceOf(headers["prefer"], "handling");
  return handling === "lenient" || handling === "strict" ? handling : null;
}

const HANDLINGS = ["handling=lenient", "handling=strict"];
const PREFERENCES_COMPARED_MAX = 4;

/** A hint for the message of a refusal if Prefer has a misspelt handling, which is ignored as the RFC requires. */
export function misspeltHandling({ prefer = [] }: IncomingHttpHeaders): string {
  const preferences = String(prefer)
    .split(",", PREFERENCES_COMPARED_MAX)
    .map((preference) => preference.trim());
  for (const preference of preferences) {
    const meant = didYouMean(preference, HANDLINGS);
    if (meant !== "") return ` Prefer: ${quoted(preference)} was ignored${meant}.`;
  }
  return "";
}
