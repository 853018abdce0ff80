import type { FastifyInstance } from "fastify";
import type { HttpContext } from "./context.ts";

/** `/healthz`: the process lives. `/readyz`: 200 when a balancer should send requests here, 503 with the reason when not. */
export function registerHealthRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get("/healthz", async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "alive" }),
  );
  app.get("/readyz", async (_request, reply) => {
    const reason = await context.processBlockedReason();
    reply.header("cache-control", "no-store").code(reason === undefined ? 200 : 503);
    const { roles } = context;
    return reply.send(
      reason === undefined ? { status: "ready", roles } : { status: "unready", roles, reason },
    );
  });
}
