import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Reads once at a time: those who ask meanwhile share the next reading, because every thread lists all its metrics for it. */
function shareReadings<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | undefined;
  let next: Promise<Value> | undefined;
  const start = () => {
    next = undefined;
    current = read().finally(() => {
      current = undefined;
    });
    return current;
  };
  return () => {
    if (next !== undefined) return next;
    if (current === undefined) return start();
    next = current.then(start, start);
    return next;
  };
}

export interface MetricsContext {
  /** The metrics of the whole process in the Prometheus text format. */
  processMetrics(): Promise<string>;
}

/** `/metrics` in the Prometheus text format; requires `token` if the operator has set one. */
export function registerMetricsRoute(
  app: FastifyInstance,
  context: MetricsContext,
  token: string | undefined,
): void {
  const read = shareReadings(() => context.processMetrics());
  app.get("/metrics", async (request, reply) => {
    if (token !== undefined && !sameText(request.headers.authorization ?? "", `Bearer ${token}`)) {
      return reply.code(401).header("www-authenticate", 'Bearer realm="metrics"').send();
    }
    return reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(await read());
  });
}
