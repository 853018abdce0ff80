/**
 * What one partner may do that others must not feel. All are sent by one client with the default request rate, except
 * `busy`, whose rate is never reached and who sends as fast as responses arrive.
 */
export const NOISE_KINDS = {
  "ten-times": "500 batches of 20 a second, ten times its request rate",
  busy: "batches of 100 over 8 connections as fast as they are answered, its rate never reached",
  huge: "batches of the greatest size (16 MiB, some 7,900 reservations) over 8 connections, as fast as they are answered",
  invalid: "batches of 1,000 records that are all invalid, over 8 connections, as fast as they are answered",
  rejected: "lenient batches of 1,000 records of which 999 are invalid, the same way",
  quarantined: "batches of 1,000 records from next year, which are all quarantined, the same way",
  slow: "1,000 bodies of which a byte comes each second, each said to have 100 kB",
  backfill:
    "a backfill: batches of 500 new reservations of one hotel over 4 connections, as fast as they are answered, a second's pause after each 429",
  "as-live": "the same without being a backfill",
  idle: "2,000 connections that are kept and say nothing, and 1,000 whose first request never ends",
} as const;

export type NoiseKind = keyof typeof NOISE_KINDS;

export const NOISE_NAMES = Object.keys(NOISE_KINDS) as readonly NoiseKind[];

export interface NoiseOrder {
  readonly kind: NoiseKind;
  readonly port: number;
  /** Lines of every request head, including the bearer token. */
  readonly headers: readonly string[];
  /** Maximum batches per second; 0: the kind decides. */
  readonly perSecond: number;
}

export interface NoiseResult {
  readonly seconds: number;
  /** Responses by status; `closed` if the connection ended without one. */
  readonly answers: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
}
