import { RESOURCES, type Resource } from "#contract/resource.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";

/** Counts the batches of one resource. */
export interface BatchMeter {
  accepted(records: number, rejected: number, bodyBytes: number): void;
  /** Answered again by its Idempotency-Key. */
  repeated(): void;
}

export type BatchMeters = Readonly<Record<Resource, BatchMeter>>;

/** The metrics of batches with their label looked up once instead of at every batch. */
export function createBatchMeters(metrics: Metrics): BatchMeters {
  return Object.fromEntries(RESOURCES.map((resource) => [resource, meterOf(metrics, resource)])) as Record<
    Resource,
    BatchMeter
  >;
}

function meterOf(metrics: Metrics, resource: Resource): BatchMeter {
  const batches = metrics.acceptedBatches.labels({ resource });
  const records = metrics.acceptedRecords.labels({ resource });
  const rejections = metrics.rejectedRecords.labels({ resource });
  const bytes = metrics.bodyBytes.labels({ resource });
  return {
    accepted(recordCount, rejectedCount, bodyBytes) {
      batches.inc();
      records.inc(recordCount);
      rejections.inc(rejectedCount);
      bytes.observe(bodyBytes);
    },
    repeated() {
      metrics.repeatedKeys.inc();
    },
  };
}
