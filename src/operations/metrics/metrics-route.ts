import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import type { HttpContext } from "../../service-context.ts";

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `/metrics` in the Prometheus text format; requires `token` if the operator has set one. */
export function registerMetricsRoute(
  app: FastifyInstance,
  context: HttpContext,
  token: string | undefined,
): void {
  app.get("/metrics", async (request, reply) => {
    if (token !== undefined && !sameText(request.headers.authorization ?? "", `Bearer ${token}`)) {
      return reply.code(401).header("www-authenticate", 'Bearer realm="metrics"').send();
    }
    return reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(await context.processMetrics());
  });
}
