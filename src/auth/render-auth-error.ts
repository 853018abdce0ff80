import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { ServiceError } from "../errors/registry.ts";
import { isDatabaseOutage } from "./database-outage.ts";
import { OAuthError } from "./oauth-error.ts";

/** Seconds until it is worth asking again when the database could not be reached. */
const OUTAGE_RETRY_SECONDS = 5;

/**
 * Renders a refusal as RFC 6749 §5.2 has it. Errors that are none of OAuth (405, a defect) go on to the application's
 * handler, which has the error object for them.
 */
export function renderAuthError(
  error: FastifyError | OAuthError | ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const refusal = asOAuthError(error);
  if (refusal === undefined) throw error;
  if (refusal.status >= 500) request.log.error({ err: error }, "a token request could not be answered");
  reply
    .code(refusal.status)
    .headers(refusal.headers)
    // A fault that is found before the hooks of these routes has not got them.
    .headers({ "cache-control": "no-store", pragma: "no-cache" })
    .type("application/json; charset=utf-8")
    .send({ error: refusal.code, error_description: refusal.message });
}

function asOAuthError(error: FastifyError | OAuthError | ServiceError): OAuthError | undefined {
  if (error instanceof OAuthError) return error;
  if (isDatabaseOutage(error) || error.code === "bellhop.accept.Unavailable") {
    return new OAuthError("temporarily_unavailable", "The service cannot answer now. Try again later.", {
      status: 503,
      headers: { "retry-after": String(OUTAGE_RETRY_SECONDS) },
    });
  }
  switch (error.code) {
    case "bellhop.http.BadRequest":
      return new OAuthError("invalid_request", error.message);
    case "bellhop.http.PayloadTooLarge":
      return new OAuthError("invalid_request", "The form is larger than is allowed.", { status: 413 });
    default:
      return undefined;
  }
}
