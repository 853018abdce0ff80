import { isLive, type Stay, staysOf, textOf } from "../fields.ts";
import { type Finding, hotelOf, latestOf, right, type SeenRecord, type Step, wrong } from "../step.ts";

interface Sharer {
  readonly record: SeenRecord;
  readonly hotel: string;
  readonly shareId: string | undefined;
  readonly stays: readonly Stay[];
}

function overlap(one: Stay, other: Stay): boolean {
  return one.roomType === other.roomType && one.arrival < other.departure && other.arrival < one.departure;
}

/** Reservations with one shareId must overlap in a room. */
function findingOfShare(sharers: readonly Sharer[]): Finding[] {
  const [first, ...others] = sharers;
  if (first === undefined || others.length === 0) return [];
  const shareId = JSON.stringify(first.shareId ?? "");
  const requests = sharers.map(({ record }) => record.requestId);
  const keys = sharers.map(({ record }) => record.key).join(", ");
  const apart = others.find(
    ({ stays }) => !stays.some((stay) => first.stays.some((one) => overlap(one, stay))),
  );
  if (apart === undefined) return [right(`${keys} share a room under shareId ${shareId}.`, ...requests)];
  const reason = `${first.record.key} and ${apart.record.key} have the shareId ${shareId} but no night in the same room type, so each would count as a room. Sharers must have the same room type and nights.`;
  return [wrong(reason, ...requests)];
}

/** Two reservations in one numbered room on the same night without a common shareId. */
function findingOfRoom(one: Sharer, other: Sharer): Finding[] {
  if (one.hotel !== other.hotel || (one.shareId !== undefined && one.shareId === other.shareId)) return [];
  const room = one.stays.find((stay) =>
    other.stays.some((their) => their.roomNumber === stay.roomNumber && overlap(stay, their)),
  )?.roomNumber;
  const reason = `${one.record.key} and ${other.record.key} are in room ${JSON.stringify(room)} on the same night without a common shareId, so they would count as two rooms. Give both the same shareId.`;
  return room === undefined ? [] : [wrong(reason, one.record.requestId, other.record.requestId)];
}

/** Pairs are compared, so only this many of the newest reservations with a room number are read. */
const NUMBERED_MAX = 200;

export const share: Step = {
  name: "share",
  title: "Two reservations that share a room",
  docs: "guides/shares#what-to-send",
  instruction: () =>
    "Put two guests, each with a reservation, into one room: two records with different reservationIds and the same shareId, room type and nights. Send revenue with the reservation of the guest who pays it.",
  notYet: "No two reservations with the same shareId have been received.",
  find(evidence) {
    const live = latestOf(evidence, "reservations").filter(isLive);
    const all = live.map((record): Sharer => {
      const [hotel, shareId] = [hotelOf(record), textOf(record.fields, "shareId")];
      return { record, hotel, shareId, stays: staysOf(record) };
    });
    const sharing = all.filter(({ shareId }) => shareId !== undefined);
    const shares = Map.groupBy(sharing, ({ hotel, shareId }) => JSON.stringify([hotel, shareId]));
    const inRooms = all.filter(({ stays }) => stays.some(({ roomNumber }) => roomNumber !== undefined));
    const numbered = inRooms.slice(-NUMBERED_MAX);
    return [
      ...numbered.flatMap((one, at) => numbered.slice(at + 1).flatMap((other) => findingOfRoom(one, other))),
      ...[...shares.values()].flatMap(findingOfShare),
    ];
  },
};
