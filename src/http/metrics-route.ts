import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { HttpContext } from "./context.ts";

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `/metrics` in the Prometheus text format; asks for `token` where the operator has set one. */
export function registerMetricsRoute(
  app: FastifyInstance,
  context: HttpContext,
  token: string | undefined,
): void {
  const { metrics, pool, budget } = context;
  app.get("/metrics", async (request, reply) => {
    if (token !== undefined && !sameText(request.headers.authorization ?? "", `Bearer ${token}`)) {
      return reply.code(401).header("www-authenticate", 'Bearer realm="metrics"').send();
    }
    metrics.poolConnections.set({ state: "idle" }, pool.idleCount);
    metrics.poolConnections.set({ state: "busy" }, pool.totalCount - pool.idleCount);
    metrics.poolConnections.set({ state: "waiting" }, pool.waitingCount);
    metrics.bodyBytesInFlight.set(budget.bytesInUse);
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
}
