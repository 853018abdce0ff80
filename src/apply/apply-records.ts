import type pg from "pg";
import {
  insertVersions,
  loadCurrent,
  loadVersionsAt,
  type NewVersion,
  type RecordKey,
  textOfKey,
  upsertCurrent,
  type Version,
  writeReceipts,
} from "../state/record-state.ts";
import { classify, type Decision, type KnownRecord } from "./classify.ts";
import type { ApplicableRecord, OutcomeLetter } from "./record.ts";

/** Hands out the next change number of a bucket, or null where changes are not numbered (a replay). */
export type NextChange = (bucket: number) => string | null;

interface Writes {
  readonly versions: NewVersion[];
  readonly received: { of: RecordKey; version: Version; changeNumber: string | null }[];
  readonly current: Map<string, { of: RecordKey; current: Version }>;
}

async function loadKnown(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
): Promise<Map<string, KnownRecord>> {
  const keys = new Map(records.map(({ of }) => [textOfKey(of), of]));
  const current = await loadCurrent(client, [...keys.values()]);
  // A source time later than the current one has no versions yet, so in a steady feed nothing is looked up here.
  const mayExist = records.filter(({ of, incoming }) => {
    const newest = current.get(textOfKey(of));
    return newest !== undefined && incoming.sourceTime <= newest.sourceTime;
  });
  const versions = await loadVersionsAt(
    client,
    mayExist.map(({ of, incoming }) => ({ of, sourceTime: incoming.sourceTime })),
  );
  const known = new Map<string, KnownRecord>();
  for (const text of keys.keys()) {
    const versionsAt = new Map<string, Version[]>();
    for (const version of versions.get(text) ?? []) {
      const siblings = versionsAt.get(version.sourceTime);
      if (siblings === undefined) versionsAt.set(version.sourceTime, [version]);
      else siblings.push(version);
    }
    known.set(text, { current: current.get(text) ?? null, versionsAt });
  }
  return known;
}

function note(writes: Writes, record: ApplicableRecord, decision: Decision, nextChange: NextChange): void {
  const { of } = record;
  if (decision.outcome === "d") {
    const { lowered, becameCurrent } = decision;
    if (lowered !== null) writes.received.push({ of, version: lowered, changeNumber: null });
    if (becameCurrent !== null)
      writes.received.push({ of, version: becameCurrent, changeNumber: nextChange(of.bucket) });
    return;
  }
  writes.versions.push({
    of,
    version: decision.version,
    outcome: decision.outcome,
    changeNumber: decision.outcome === "a" ? nextChange(of.bucket) : null,
    facts: decision.ownFacts ? record.facts : null,
  });
}

/**
 * Applies records one by one, in the order given, to the state schema on the connection's search path, inside the
 * caller's transaction and under the caller's ownership of their buckets. Answers each one's outcome, in order.
 */
export async function applyRecords(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  nextChange: NextChange,
): Promise<OutcomeLetter[]> {
  const known = await loadKnown(client, records);
  const writes: Writes = { versions: [], received: [], current: new Map() };
  const outcomes = records.map((record): OutcomeLetter => {
    const text = textOfKey(record.of);
    const ofKey = known.get(text);
    if (ofKey === undefined) throw new Error("A record's key was not loaded.");
    const before = ofKey.current;
    const decision = classify(ofKey, record.incoming);
    note(writes, record, decision, nextChange);
    if (ofKey.current !== null && ofKey.current !== before) {
      writes.current.set(text, { of: record.of, current: ofKey.current });
    }
    return decision.outcome;
  });
  await insertVersions(client, writes.versions);
  await writeReceipts(client, writes.received);
  await upsertCurrent(client, [...writes.current.values()]);
  return outcomes;
}
