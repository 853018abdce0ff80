import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "../errors/registry.ts";

/** The optional header parameters of a data request, checked. */
export interface HeaderParameters {
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  readonly lenient: boolean;
  readonly preferenceApplied: string | null;
}

function invalid(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidHeader", { message });
}

function singleValue(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw invalid(`${name} must be sent once.`);
  return value;
}

function visibleText(headers: IncomingHttpHeaders, name: string, charactersMax: number): string | null {
  const value = singleValue(headers, name);
  if (value === null) return null;
  if (value.length > charactersMax || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw invalid(`${name} must be 1 to ${charactersMax} visible ASCII characters.`);
  }
  return value;
}

function replyToOf(headers: IncomingHttpHeaders): string | null {
  const value = visibleText(headers, "replyto", 2_048);
  if (value === null) return null;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw invalid("ReplyTo must be an absolute http or https address.");
  }
  return value;
}

/** `handling` of the Prefer header (RFC 7240); other preferences are ignored, as it says. */
function handlingOf(headers: IncomingHttpHeaders): "lenient" | "strict" | null {
  const value = singleValue(headers, "prefer");
  if (value === null) return null;
  for (const preference of value.split(",")) {
    const match = /^\s*handling\s*=\s*"?(lenient|strict)"?\s*(?:;|$)/i.exec(preference);
    if (match?.[1] !== undefined) return match[1].toLowerCase() === "lenient" ? "lenient" : "strict";
  }
  return null;
}

/** Reads the header parameters; throws ServiceError `bellhop.http.InvalidHeader` (422) for one that cannot be used. */
export function readHeaderParameters(headers: IncomingHttpHeaders): HeaderParameters {
  const handling = handlingOf(headers);
  return {
    idempotencyKey: visibleText(headers, "idempotency-key", 255),
    correlationId: visibleText(headers, "x-correlation-id", 128),
    replyTo: replyToOf(headers),
    lenient: handling === "lenient",
    preferenceApplied: handling === null ? null : `handling=${handling}`,
  };
}

/** True when the client would rather have the bare UUID than JSON (RFC 9110 section 12.5.1; JSON when it says nothing). */
export function prefersPlainText(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const weights = new Map<string, number>();
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(type, Number.isFinite(q) ? q : 0);
  }
  const weigh = (type: string, family: string) =>
    weights.get(type) ?? weights.get(family) ?? weights.get("*/*") ?? 0;
  return weigh("text/plain", "text/*") > weigh("application/json", "application/*");
}
