import { hostname } from "node:os";
import type pg from "pg";
import type { Config } from "../config.ts";
import { createPool, POOL_ANSWER_MS_MAX } from "../db/pool.ts";
import { readCursorEpoch } from "../feed/cursor-epoch.ts";
import { AddressRules } from "../feed/webhooks/address-rules.ts";
import { WebhookDeliverer } from "../feed/webhooks/deliverer.ts";
import { resolveByDns } from "../feed/webhooks/resolve-host.ts";
import { standardPlan } from "../feed/webhooks/retry-plan.ts";
import type { SecretSealer } from "../feed/webhooks/secrets.ts";
import type { Logger } from "../observe/log.ts";
import { createMetrics, type MetricValues } from "../observe/metrics.ts";
import type { Tracer } from "../observe/opentelemetry.ts";
import { tellSlowStatements } from "./slow-statements.ts";

/** Connections for what is noticed, loaded and settled; each statement takes some milliseconds. */
const POOL_SIZE = 4;
const HOUR_SECONDS = 3_600;

export interface DelivererParts {
  readonly config: Config;
  readonly log: Logger;
  readonly tracer: Tracer | undefined;
  readonly clientConfig: pg.ClientConfig;
  readonly sealer: SecretSealer;
  /** What cursors are sealed with. */
  readonly cursorKey: () => Promise<Buffer>;
}

export interface RunningDeliverer {
  metrics(): Promise<MetricValues>;
  stop(): Promise<void>;
}

/** Starts to deliver webhooks for this node's part of the endpoints. */
export function startDeliverer({
  config,
  log,
  tracer,
  clientConfig,
  sealer,
  cursorKey,
}: DelivererParts): RunningDeliverer {
  const metrics = createMetrics();
  const watch = tellSlowStatements(config.slowQueryMs, log, metrics);
  const pool = createPool(clientConfig, log, POOL_SIZE, POOL_ANSWER_MS_MAX, watch);
  const deliverer = new WebhookDeliverer({
    ...{ clientConfig, pool, sealer, tracer },
    cursorSeal: async () => ({ key: await cursorKey(), epoch: await readCursorEpoch(pool) }),
    owner: `${hostname()}/${process.pid}`,
    plan: standardPlan(config.webhookPauseHours * HOUR_SECONDS),
    send: { rules: new AddressRules(config.webhookAllowedNetworks), resolve: resolveByDns },
    events: {
      tried({ endpointId, messageId, event, failure, ageSeconds, isDead, isPaused }) {
        metrics.webhookTries.inc({ result: failure === null ? "delivered" : isDead ? "given up" : "failed" });
        if (failure === null) metrics.webhookSeconds.observe(ageSeconds);
        else log.info({ endpointId, messageId, event, failure, isDead }, "a webhook was not delivered");
        if (isPaused) log.warn({ endpointId }, "a webhook endpoint that keeps failing was paused");
      },
      failed: (error) => log.warn({ err: error }, "delivering webhooks failed and is tried again"),
    },
  });
  deliverer.start();
  return {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    async stop() {
      await deliverer.stop();
      await pool.end();
    },
  };
}
