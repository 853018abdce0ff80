import type { FastifyInstance } from "fastify";
import { registerChangeRoutes } from "./change-routes.ts";
import type { HttpContext } from "./context.ts";
import { registerRecordRoutes } from "./read-record-routes.ts";
import { registerRequestRoutes } from "./read-request-routes.ts";

/** Everything a partner can read back, with the scope `read`: what became of its requests, its records, and what changes. */
export function registerReadRoutes(app: FastifyInstance, context: HttpContext): void {
  registerRequestRoutes(app, context);
  registerRecordRoutes(app, context);
  registerChangeRoutes(app, context);
}
