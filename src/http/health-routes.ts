import type { FastifyInstance } from "fastify";
import type { HttpContext } from "./context.ts";

/** `/healthz`: the process lives. `/readyz`: whether a balancer should send requests here, and what is in the way. */
export function registerHealthRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get("/healthz", async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "alive" }),
  );
  app.get("/readyz", async (_request, reply) => {
    const { isReady, reason } = await context.processReadiness();
    reply.header("cache-control", "no-store").code(isReady ? 200 : 503);
    const { roles } = context;
    const because = reason === undefined ? {} : { reason };
    return reply.send({ status: isReady ? "ready" : "unready", roles, ...because });
  });
}
