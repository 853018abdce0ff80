import type { FastifyReply, FastifyRequest } from "fastify";
import { AuthInputError } from "../identity/admin.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { sendError } from "../platform/http/error-body.ts";
import { GateFull } from "../platform/runtime/gate.ts";

/** When it is worth asking again after the console was busy. */
const BUSY_RETRY_SECONDS = 2;

/** Renders the console's own errors; what is none goes on to the application's handler. */
export function renderConsoleError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const refusal = asConsoleError(error);
  if (refusal === undefined) throw error;
  sendError(reply, refusal);
}

function asConsoleError(error: unknown): ConsoleError | undefined {
  if (error instanceof ConsoleError) return error;
  if (error instanceof AuthInputError) {
    return new ConsoleError("bellhop.console.InvalidInput", { message: error.message, cause: error });
  }
  if (error instanceof GateFull) {
    return new ConsoleError("bellhop.console.Busy", { cause: error, retryAfterSeconds: BUSY_RETRY_SECONDS });
  }
  const code = error instanceof ServiceError ? error.code : undefined;
  if (code === "bellhop.http.UnsupportedMediaType") {
    return new ConsoleError("bellhop.console.UnsupportedMediaType", { cause: error });
  }
  if (code === "bellhop.http.PayloadTooLarge") {
    return new ConsoleError("bellhop.console.PayloadTooLarge", { cause: error });
  }
  return undefined;
}
