import type pg from "pg";
import { VERSION_WINDOWS } from "../apply/state/version-windows.ts";
import { REQUEST_OUTCOME } from "../ingest/log/partitions.ts";
import { limitationOf } from "../platform/db/dialect.ts";
import { isWindowed } from "../platform/db/time-windows.ts";
import { listDue, type RetentionRun, readRules } from "./run-retention.ts";
import { RETAINED } from "./terms.ts";

/** What retention should have done by now, and has not. */
export interface Overdue {
  /** Whether anything has a term at all. */
  readonly isAnyTerm: boolean;
  /** Why nothing is ever removed from this database; undefined where it is. */
  readonly limitation: string | undefined;
  /** Windows of which something is past its term. */
  readonly windows: RetentionRun["due"];
  /** Tables with a term that have no windows. */
  readonly unopened: readonly string[];
}

const LAST_CHANGE = `
  select coalesce((extract(epoch from clock_timestamp() - max(changed_at)) * 1000)::float8, 'Infinity') as ms
  from bellhop.property_setting where property_code is null and name like 'retention.%'`;

/**
 * What has been due for longer than `graceMs`, which is what a run may take to come by; nothing where terms were changed since.
 * Only looks, and keeps nobody from running.
 */
export async function findOverdue(client: pg.ClientBase, graceMs: number): Promise<Overdue> {
  const rules = await readRules(client, undefined);
  const isSet = (kind: (typeof RETAINED)[number]) => rules.terms.shortest(kind) < Number.POSITIVE_INFINITY;
  const isAnyTerm = RETAINED.some(isSet);
  const limitation = isAnyTerm ? await limitationOf(client, "retention") : undefined;
  const nothing = { isAnyTerm, limitation, windows: [], unopened: [] };
  if (!isAnyTerm || limitation !== undefined) return nothing;
  const { rows } = await client.query<{ ms: number }>(LAST_CHANGE);
  if ((rows[0]?.ms ?? 0) < graceMs) return nothing;
  const now = await listDue(client, rules);
  // Gone through since by a later measure, a window is not due now.
  const before = await listDue(client, { ...rules, nowMs: rules.nowMs - graceMs });
  const names = new Set(before.map(({ window }) => window));
  const unopened: string[] = [];
  if (isSet("outcomes") && !(await isWindowed(client, REQUEST_OUTCOME))) unopened.push(REQUEST_OUTCOME.table);
  if (isSet("versions"))
    for (const of of VERSION_WINDOWS) if (!(await isWindowed(client, of))) unopened.push(of.table);
  return { ...nothing, windows: now.filter(({ window }) => names.has(window)), unopened };
}
