import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { percentile } from "../statistics.ts";
import type { SteadyResult } from "./steady-load.ts";

/** Latencies of well-behaved partners in milliseconds. */
export interface QuietFigures {
  readonly batches: number;
  /** Responses other than 202. */
  readonly refused: number;
  readonly acceptP50: number;
  readonly acceptP99: number;
  /** From receipt, according to the request id, until the outcomes were written (before their commit). */
  readonly lagP50: number;
  readonly lagP99: number;
}

const APPLIED_MS_MAX = 120_000;
const LOOK_MS = 250;

/** For each part received in an interval from these clients; undefined until all are applied. */
const LAGS = `select extract(epoch from outcome.applied_at - part.received_at)::float8 * 1000 as ms
  from bellhop.accept_log as part
  left join bellhop.request_outcome as outcome using (bucket, request_id)
  where part.client_id = any ($1::text[])
    and part.request_id >= analytics.first_request_id_after(to_timestamp($2))
    and part.request_id < analytics.first_request_id_after(to_timestamp($3))`;

/** Waits until all batches of a run are applied, then returns its figures. */
export async function quietFigures(
  client: pg.ClientBase,
  clientIds: readonly string[],
  { startedAt, endedAt, sent }: SteadyResult,
): Promise<QuietFigures> {
  const deadline = Date.now() + APPLIED_MS_MAX;
  let lags: (number | null)[];
  for (;;) {
    // A margin at both ends: these clients send nothing else.
    const values = [clientIds, startedAt / 1000 - 0.05, endedAt / 1000 + 0.05];
    const { rows } = await client.query<{ ms: number | null }>({ text: LAGS, values });
    lags = rows.map(({ ms }) => ms);
    if (!lags.includes(null)) break;
    if (Date.now() > deadline) throw new Error("What was sent quietly is not applied after two minutes.");
    await delay(LOOK_MS);
  }
  const accepted = sent.map(({ acceptMs }) => acceptMs);
  const applied = lags.map(Number);
  return {
    batches: sent.length,
    refused: sent.filter(({ status }) => status !== 202).length,
    acceptP50: percentile(accepted, 0.5),
    acceptP99: percentile(accepted, 0.99),
    lagP50: percentile(applied, 0.5),
    lagP99: percentile(applied, 0.99),
  };
}
