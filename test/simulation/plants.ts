/** Planted protocol faults, to show that the simulation finds them. */
export const PLANTS = {
  "answer-before-commit": "a flush is answered when it is sent, not when it is committed",
  "one-cursor":
    "one cursor a bucket instead of one a log writer: a transaction that commits late is passed by",
  "two-owners": "buckets are taken from the living, and nobody compares epochs",
  "keep-read-ahead": "what was read ahead is applied though the transaction before it was rolled back",
  "cursor-apart": "the cursor is moved in a transaction of its own",
  "retire-living-log-writers": "log writers are closed while their backend may still commit",
  "close-and-retire": "log writers are closed and retired by one statement, with one snapshot",
  "forget-keys": "Idempotency-Keys are not claimed",
  "forget-floor": "a node that starts again does not learn the newest id of the log",
} as const;

export type PlantName = keyof typeof PLANTS;
