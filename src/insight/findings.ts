import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { type Cause, causesOf, type NightEvidence, type OfCause } from "./causes.ts";
import type { Finding } from "./finding.ts";
import {
  type RankedEffect,
  type RankedRoomType,
  rankRoomType,
  rivalryOf,
  type Unexplained,
} from "./rank-causes.ts";
import type { ReportedNight } from "./reconciliation.ts";

const shown = (text: string | null): string => JSON.stringify((text ?? "").slice(0, 64));

function findingOf(
  { effect, nights, nightsExplained }: RankedEffect<Cause>,
  { at }: NightEvidence["around"],
): Finding {
  const { cause, roomType } = effect;
  const { kind, action } = cause;
  const rooms = effect.rooms[at] as number;
  return {
    kind,
    roomType,
    rooms,
    nights,
    nightsExplained,
    records: cause.records(),
    message: cause.message(),
    action,
  };
}

/** Findings of one answer. */
const FINDINGS_MAX = 100;

/** A difference that no record explains: a reservation that was never received, or a wrong count. */
function ofUnexplained(
  around: NightEvidence["around"],
  report: ReportedNight,
  { roomType, rooms, nights }: Unexplained,
  isMissing: boolean,
): Finding[] {
  const night = around.nights[around.at] as string;
  const place = { requestId: report.request_id, index: report.record_index };
  const about = {
    roomType,
    rooms,
    records: [{ resource: "inventories" as const, key: night, ...place }],
    nights,
    nightsExplained: nights,
  };
  const sold = report.rooms.find(({ unit }) => unit === roomType)?.counts.sold ?? 0;
  const wrong: Finding = {
    ...about,
    kind: "wrong-sold-count",
    message: `The count of ${shown(roomType)} says ${sold}, which no record explains by ${Math.abs(rooms)}: it may be wrong.`,
    action: "Compare the count in the hotel's system, and send the inventory again.",
  };
  if (rooms < 0) return [wrong];
  const during = nights === 1 ? "this night alone" : `${nights} nights in a row`;
  const missing: Finding = {
    ...about,
    kind: "missing-reservation",
    message: `${rooms} more of ${shown(roomType)} sold than any record says, ${during}: a reservation may never have come.`,
    action: "Compare the reservations of the night in the hotel's system, and send those that lack.",
  };
  return isMissing ? [missing, wrong] : [wrong, missing];
}

/** Room types that are explained, those that differ most, and of which combinations are searched. Only a hostile feed has more. */
const ROOM_TYPES_MAX = 1_000;
const COMBINED_TYPES_MAX = 12;

/**
 * Possible explanations of a night's differences between inventory and reservations, by room type, the likeliest first: proofs, then what
 * explains the differences of the nights around with the fewest causes, then all others that fit the night.
 */
export async function findingsOf(
  evidence: NightEvidence,
  roomTypes: readonly (string | null)[],
): Promise<{ readonly findings: readonly Finding[]; readonly findingCount: number }> {
  const { around } = evidence;
  const pauses = new WorkPauses();
  const known: { readonly roomType: string | null; readonly rooms: number }[] = [];
  for (const roomType of roomTypes) {
    const rooms = evidence.differencesOf(roomType).all[around.at] as number;
    if (Math.abs(rooms) > 0) known.push({ roomType, rooms });
    if (pauses.isDue) await pauses.pause();
  }
  if (known.length === 0) return { findings: [], findingCount: 0 };
  const differing = known
    .sort((one, other) => Math.abs(other.rooms) - Math.abs(one.rooms) || other.rooms - one.rooms)
    .slice(0, ROOM_TYPES_MAX)
    .map(({ roomType }) => roomType);
  const effects: OfCause[] = [];
  for (const some of causesOf(evidence, new Set(differing))) {
    for (const effect of some) effects.push(effect);
    if (pauses.isDue) await pauses.pause();
  }
  const rivalry = await rivalryOf(effects, evidence.differencesOf, pauses);
  const byRoomType = Map.groupBy(effects, ({ roomType }) => roomType);
  const ranked: RankedRoomType<Cause>[] = [];
  for (const [place, roomType] of differing.entries()) {
    const own = byRoomType.get(roomType) ?? [];
    const combines = place < COMBINED_TYPES_MAX;
    const differences = evidence.differencesOf(roomType);
    ranked.push(await rankRoomType(roomType, own, differences, around.at, rivalry, combines, pauses));
    if (pauses.isDue) await pauses.pause();
  }
  return listed(evidence, ranked);
}

/** Lists each cause first for the room type that it explains best, and for others after the leading ones. */
function listed(evidence: NightEvidence, ranked: readonly RankedRoomType<Cause>[]) {
  const { around } = evidence;
  const proofs: RankedEffect<Cause>[] = [];
  const leading: RankedEffect<Cause>[] = [];
  const again: RankedEffect<Cause>[] = [];
  const named = new Set<Cause>();
  const name = (one: RankedEffect<Cause>, to: RankedEffect<Cause>[]) => {
    (named.has(one.effect.cause) ? again : to).push(one);
    named.add(one.effect.cause);
  };
  const isProof = ({ effect }: { readonly effect: OfCause }) => effect.cause.isProof;
  for (const { leading: first, others } of ranked) {
    for (const one of first) if (isProof(one)) name(one, proofs);
    for (const one of others) if (isProof(one)) name(one.fit(), proofs);
  }
  const most = Math.max(...ranked.map((one) => one.leading.length));
  for (let place = 0; place < most; place += 1)
    for (const one of ranked) {
      const effect = one.leading[place];
      if (effect !== undefined && !isProof(effect)) name(effect, leading);
    }
  const isNamed = (one: { readonly effect: OfCause }) => named.has(one.effect.cause);
  const others = ranked.flatMap((one) => one.others.filter((other) => !isProof(other)));
  const rest = [...others.filter((one) => !isNamed(one)), ...others.filter(isNamed)];
  const first = [...proofs, ...leading, ...again];
  const { report } = evidence;
  const left = ranked.flatMap(({ unexplained, isMissing }) =>
    report === undefined || unexplained === undefined ? [] : [{ report, unexplained, isMissing }],
  );
  // Texts are written only of what is listed.
  const few = <Item>(items: readonly Item[]) => items.slice(0, FINDINGS_MAX);
  const listedOnes = [
    ...few(first).map((one) => findingOf(one, around)),
    ...few(left).flatMap((one) => ofUnexplained(around, one.report, one.unexplained, one.isMissing)),
    ...few(rest).map((one) => findingOf(one.fit(), around)),
  ];
  const missing = left.filter(({ unexplained }) => unexplained.rooms > 0).length;
  return { findings: few(listedOnes), findingCount: first.length + left.length + missing + rest.length };
}
