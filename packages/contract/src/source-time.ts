import { NOTED, SOUGHT } from "./noted-fields.ts";
import type { BatchRecord } from "./read-batch.ts";
import type { Resource } from "./resource.ts";

/** Of `2026-01-02T03:04:05`. */
const SECOND_CHARACTERS = 19;

/**
 * A source time further ahead of the receipt than this would win for ever, so the record is held aside. Compared with
 * the receipt, not with today, so that a replay decides the same.
 */
const SOURCE_TIME_AHEAD_MS_MAX = 10 * 60_000;

/** The last microsecond that a record received then, milliseconds since 1970, may name: source times compare as text. */
export function latestSourceTime(receivedAt: number): string {
  const latest = new Date(receivedAt + SOURCE_TIME_AHEAD_MS_MAX).toISOString();
  return `${latest.slice(0, -1)}999Z`;
}

/** Whether a valid record of a batch names a time after `latest`, to the second: it will be held aside. */
export function isAhead(resource: Resource, record: BatchRecord, latest: string): boolean {
  const field = NOTED[resource].sought?.[SOUGHT.sourceTime] as string;
  const second = record.sourceSecond ?? (record.value as Record<string, string>)[field];
  return second !== undefined && second.slice(0, SECOND_CHARACTERS) > latest;
}
