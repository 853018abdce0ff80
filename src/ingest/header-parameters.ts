import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { ServiceError } from "../platform/errors/registry.ts";
import { isUuid } from "../platform/http/position.ts";
import { preferenceOf } from "../platform/http/preference.ts";

/** The optional header parameters of a data request, checked. */
export interface HeaderParameters {
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  /** The backfill that the batch says it belongs to, in lower case. */
  readonly backfillId: string | null;
  readonly lenient: boolean;
  /** Value of the Preference-Applied header; null when no handling was asked for. */
  readonly preferenceApplied: string | null;
}

type Headers = Pick<IncomingMessage, "headers" | "rawHeaders">;

/** Reads the header parameters; throws ServiceError `bellhop.http.InvalidHeader` (422) for one that cannot be used. */
export function readHeaderParameters(request: Headers): HeaderParameters {
  const handling = handlingOf(request.headers);
  return {
    idempotencyKey: visibleText(request, "Idempotency-Key", 255),
    correlationId: visibleText(request, "X-Correlation-Id", 128),
    replyTo: replyToOf(request),
    backfillId: backfillIdOf(request),
    lenient: handling === "lenient",
    preferenceApplied: handling === null ? null : `handling=${handling}`,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidHeader", { message });
}

function visibleText(request: Headers, name: string, charactersMax: number): string | null {
  const value = request.headers[name.toLowerCase()];
  if (typeof value !== "string") return null;
  if (value.length > charactersMax || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw invalid(`${name} must be 1 to ${charactersMax} visible ASCII characters, spaces only within.`);
  }
  // Node joins a repeated header with ", ", which one value may contain too.
  if (value.includes(", ") && countOf(request.rawHeaders, name) > 1)
    throw invalid(`${name} must be sent once.`);
  return value;
}

function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name.toLowerCase()).length;
}

function backfillIdOf(request: Headers): string | null {
  const value = visibleText(request, "Backfill-Id", 36)?.toLowerCase() ?? null;
  if (value !== null && !isUuid(value)) throw invalid("Backfill-Id must be the UUID of a backfill.");
  return value;
}

function replyToOf(request: Headers): string | null {
  const value = visibleText(request, "ReplyTo", 2_048);
  if (value === null) return null;
  const address = URL.parse(value);
  // It is shown to whoever reads the request: nobody's password belongs there.
  if (address === null || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw invalid("ReplyTo must be an absolute http or https address without a user name or password.");
  }
  return value;
}

/** `handling` of the Prefer header (RFC 7240 section 4.4); one of another name is ignored, as the RFC says. */
function handlingOf(headers: IncomingHttpHeaders): "lenient" | "strict" | null {
  const handling = preferenceOf(headers["prefer"], "handling");
  return handling === "lenient" || handling === "strict" ? handling : null;
}

/** True when the client would rather have another type of text than JSON (RFC 9110 section 12.5.1; JSON when it says nothing). */
export function prefersText(accept: string | undefined, type: "text/plain" | "text/csv"): boolean {
  if (accept === undefined || accept === "*/*" || accept === "application/json") return false;
  const weights = new Map<string, number>();
  for (const part of accept.split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(range, Number.isFinite(q) ? q : 0);
  }
  const weigh = (exact: string, family: string) =>
    weights.get(exact) ?? weights.get(family) ?? weights.get("*/*") ?? 0;
  return weigh(type, "text/*") > weigh("application/json", "application/*");
}
