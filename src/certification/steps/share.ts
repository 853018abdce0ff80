import type { Evidence, SeenRecord } from "../evidence.ts";
import { textOf } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { isLive, type Stay, staysOf } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

interface Sharer {
  readonly record: SeenRecord;
  readonly shareId: string | undefined;
  readonly stays: readonly Stay[];
}

/** Whether two stays meet in one room type on a night. */
function meet(one: Stay, other: Stay): boolean {
  return one.roomType === other.roomType && one.arrival < other.departure && other.arrival < one.departure;
}

function sameHotel({ record: one }: Sharer, { record: other }: Sharer): boolean {
  return one.clientCode === other.clientCode && one.propertyCode === other.propertyCode;
}

/** Reservations of one shareId: they are to meet in a room. */
function findingOfShare(shareId: string, sharers: readonly Sharer[]): Finding[] {
  const [first, ...others] = sharers;
  if (first === undefined || others.length === 0) return [];
  const requests = sharers.map(({ record }) => record.requestId);
  const keys = sharers.map(({ record }) => record.key).join(", ");
  const apart = others.find(({ stays }) => !stays.some((stay) => first.stays.some((one) => meet(one, stay))));
  if (apart === undefined)
    return [right(`${keys} share a room under shareId ${JSON.stringify(shareId)}.`, ...requests)];
  return [
    wrong(
      `${first.record.key} and ${apart.record.key} have the shareId ${JSON.stringify(shareId)} and no night in the same room type: each would be counted as a room of its own. Sharers name the same room type and nights.`,
      ...requests,
    ),
  ];
}

/** Two in one numbered room on the same night without one shareId. */
function findingsOfRooms(sharers: readonly Sharer[]): Finding[] {
  return sharers.flatMap((one, at) =>
    sharers.slice(at + 1).flatMap((other) => {
      if (!sameHotel(one, other) || (one.shareId !== undefined && one.shareId === other.shareId)) return [];
      const room = one.stays.find((stay) =>
        other.stays.some((their) => their.roomNumber === stay.roomNumber && meet(stay, their)),
      )?.roomNumber;
      if (room === undefined) return [];
      return wrong(
        `${one.record.key} and ${other.record.key} are in room ${JSON.stringify(room)} on the same night without one shareId: they would be counted as two rooms. Give both the same shareId.`,
        one.record.requestId,
        other.record.requestId,
      );
    }),
  );
}

/** Pairs are compared: of more reservations with a room number only the newest are looked at. */
const NUMBERED_MAX = 200;

function findingsOf(evidence: Evidence): Finding[] {
  const live = historiesOf(evidence, "reservations")
    .map(({ latest: record }): Sharer => {
      return { record, shareId: textOf(record.fields, "shareId"), stays: staysOf(record) };
    })
    .filter(({ record }) => isLive(record));
  const shares = Map.groupBy(
    live.filter(({ shareId }) => shareId !== undefined),
    ({ record, shareId }) => JSON.stringify([record.clientCode, record.propertyCode, shareId]),
  );
  const numbered = live.filter(({ stays }) => stays.some(({ roomNumber }) => roomNumber !== undefined));
  return [
    ...findingsOfRooms(numbered.slice(-NUMBERED_MAX)),
    ...[...shares.values()].flatMap((sharers) => findingOfShare(sharers[0]?.shareId ?? "", sharers)),
  ];
}

export const share: Step = {
  name: "share",
  title: "Two reservations that share a room",
  instruction: () =>
    "Put two guests with a reservation each into one room: two records with reservationIds of their own, the same shareId, room type and nights. Revenue stands with whoever pays it.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No two reservations with the same shareId have been seen."),
};
