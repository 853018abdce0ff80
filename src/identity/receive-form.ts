import type { FastifyRequest } from "fastify";
import { ServiceError } from "../platform/errors/registry.ts";
import { checkMediaType, receiveSmallBody, type SmallBodyContext } from "../platform/http/receive-body.ts";
import { type AdmissionContext, authorizeAgain } from "./authorize.ts";

/** What small JSON bodies of clients are received with. */
export interface FormContext extends SmallBodyContext, AdmissionContext {}

/** Limit for bodies other than batches. */
const FORM_BYTES_MAX = 65_536;

function invalid(message: string, cause?: unknown): ServiceError {
  return new ServiceError("bellhop.http.BadRequest", { message, cause });
}

/** The bytes of a small JSON body; empty if there is no body. Throws ServiceError, and EmptyRefusal if the permission ended meanwhile. */
export async function receiveFormBytes(context: FormContext, request: FastifyRequest): Promise<Buffer> {
  const { headers } = request;
  const isThere = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (isThere) checkMediaType(headers["content-type"]);
  const bytes = await receiveSmallBody(context, request, FORM_BYTES_MAX);
  await authorizeAgain(context, request);
  return bytes;
}

/** The fields of a small JSON object; none if there is no body. Throws ServiceError, also for a field that is not `allowed`. */
export async function receiveForm(
  context: FormContext,
  request: FastifyRequest,
  allowed: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await receiveFormBytes(context, request);
  if (bytes.length === 0) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalid("The body is not a JSON object.", cause);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw invalid("The body is not a JSON object.");
  for (const name of Object.keys(parsed)) {
    if (allowed.includes(name)) continue;
    const known = allowed.length === 0 ? "nothing" : allowed.join(", ");
    throw invalid(`${JSON.stringify(name.slice(0, 40))} is not known; this address accepts ${known}.`);
  }
  return parsed as Record<string, unknown>;
}
