import {
  hasNight,
  isCancelled,
  isLive,
  listOf,
  numberOf,
  revenueDates,
  type Stay,
  staysOf,
  textOf,
} from "../fields.ts";
import {
  type Finding,
  historiesOf,
  hotelOf,
  type KeyHistory,
  latestOf,
  mistakesOf,
  pending,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";

/** Warnings about wrong counts of revenue or nights. */
const RESERVATION_MISTAKES: ReadonlySet<string> = new Set([
  "reservation.revenue-total",
  "reservation.revenue-summary",
  "reservation.outside-stay",
  "status.unmapped",
  "count.negative",
]);

/** Missing fields that a revenue manager needs. */
function lackingOf(record: SeenRecord): string[] {
  const { fields } = record;
  const [stay = {}] = listOf(fields, "roomStays");
  const days = [...revenueDates(record)];
  const stays = staysOf(record);
  const hasRevenue = (one: Stay) => days.filter((date) => hasNight(one, date)).length === one.nights;
  const present = {
    bookingDateTime: textOf(fields, "bookingDateTime") !== undefined,
    numberOfRooms: numberOf(fields, "numberOfRooms") !== undefined,
    channel: textOf(fields, "channel") !== undefined,
    "a stay of a night or more": stays.some(({ nights }) => nights > 0),
    "roomStays/0/marketSegmentCode": textOf(stay, "marketSegmentCode") !== undefined,
    "roomStays/0/rateCode": textOf(stay, "rateCode") !== undefined,
    "roomStays/0/numberOfAdults": numberOf(stay, "numberOfAdults") !== undefined,
    "stayRevenue/daily of every night": stays.every(hasRevenue),
  };
  return Object.entries(present).flatMap(([name, isThere]) => (isThere ? [] : name));
}

export const reservation: Step = {
  name: "reservation",
  title: "A complete reservation",
  docs: "guides/reservations#what-to-send-and-when",
  instruction: ({ clientCode, propertyCode }) =>
    `Book two or more nights in ${clientCode}/${propertyCode} and send the reservation with bookingDateTime, numberOfRooms, channel, a room stay with marketSegmentCode, rateCode and numberOfAdults, and stayRevenue.daily with each night once and its total the sum of its parts. No reservation may have a warning about a date, a total or its status.`,
  notYet: "No reservation that counts on the books has been received.",
  find(evidence) {
    const latest = latestOf(evidence, "reservations");
    const live = latest.filter(isLive).map((record) => ({ ...record, lacking: lackingOf(record) }));
    const [nearest] = live.toSorted((left, right) => left.lacking.length - right.lacking.length);
    const whole = live.filter(({ lacking }) => lacking.length === 0);
    return [
      ...(nearest === undefined
        ? []
        : [pending(`The most complete reservation, ${nearest.key}, lacks ${nearest.lacking.join(", ")}.`)]),
      ...mistakesOf(latest, RESERVATION_MISTAKES),
      ...whole.map(({ key, requestId }) =>
        right(`${key} has its stay, rate, segment, channel and the revenue of every night.`, requestId),
      ),
    ];
  },
};

/** Evaluates the last change of one reservation that is not a cancellation. */
function findingOfModification({ versions }: KeyHistory): Finding[] {
  const at = versions.findLastIndex(
    (version, place) => place > 0 && version.outcome === "applied" && !isCancelled(version),
  );
  const [before, version] = [versions[at - 1], versions[at]];
  if (before === undefined || version === undefined) return [];
  const requests = [before.requestId, version.requestId];
  const { key, sourceTime } = version;
  const clash = `${key} was sent with different content but the same lastModifiedDateTime ${sourceTime}, so the newer version is undefined. Every change must have a newer lastModifiedDateTime.`;
  if (sourceTime === before.sourceTime) return [wrong(clash, ...requests)];
  return [right(`${key} was sent again as a whole, modified at ${sourceTime}.`, ...requests)];
}

/** Contract, "Records": a newer record replaces the older as a whole; the newest source time wins. */
export const modification: Step = {
  name: "modification",
  title: "A modified reservation",
  docs: "contract#identity-and-order",
  instruction: () =>
    "Change a reservation that you have sent (such as its nights or room type) and send the whole record again, with the same reservationId and a newer lastModifiedDateTime.",
  notYet: "No reservation has been sent again with changed content.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfModification),
};

function findingOfCancellation({ versions, latest }: KeyHistory): Finding[] {
  const { key, requestId, fields } = latest;
  const cancelledAt = textOf(fields, "cancellationDateTime");
  const status = JSON.stringify(textOf(fields, "status"));
  if (!isCancelled(latest)) {
    const reason = `${key} has a cancellationDateTime, but its status ${status} still counts on the books. Send a cancelled status with it.`;
    return cancelledAt === undefined ? [] : [wrong(reason, requestId)];
  }
  if (cancelledAt === undefined) {
    const reason = `${key} is cancelled and has no cancellationDateTime, so the time of the cancellation is unknown.`;
    return [wrong(reason, requestId)];
  }
  // Without a live version it was booked before the certification or in another system, which proves nothing.
  const booked = versions.find(isLive);
  const reason = `${key} was booked, and cancelled at ${cancelledAt}.`;
  return booked === undefined ? [] : [right(reason, booked.requestId, requestId)];
}

export const cancellation: Step = {
  name: "cancellation",
  title: "A cancelled reservation",
  docs: "guides/cancellations#what-to-send",
  instruction: () =>
    "Book a reservation, then cancel it: the same reservationId with its room stays, status CANCELLED (or another spelling of the default mapping, or your own status once your operator has mapped it as not on the books), cancellationDateTime and, if known, cancellationReason. Always send cancelled reservations; never omit them.",
  notYet: "No booked reservation has been sent again as cancelled.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfCancellation),
};

function findingOfDayUse(record: SeenRecord): Finding[] {
  const { key, requestId } = record;
  const day = staysOf(record).find(({ arrival, departure }) => arrival === departure)?.arrival;
  if (day === undefined || !isLive(record)) return [];
  const reason = `${key} is a day use on ${day} without an entry of that date in stayRevenue.daily, so its revenue is lost. Send the revenue of a day use on its date.`;
  if (!revenueDates(record).has(day)) return [wrong(reason, requestId)];
  return [right(`${key} is a day use of ${day} with its revenue.`, requestId)];
}

export const dayUse: Step = {
  name: "day-use",
  title: "Day use",
  docs: "guides/cancellations#day-use",
  instruction: () =>
    "Book a room for a day without a night: departureDate equals arrivalDate, and stayRevenue.daily has one entry, of that date.",
  notYet: "No reservation that departs on its arrival date has been received.",
  find: (evidence) => latestOf(evidence, "reservations").flatMap(findingOfDayUse),
};

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

/** Adults of the three versions in the required order of arrival: the second arrives last. */
const ADULTS_AS_SENT = "1,3,2";

function findingOfOutOfOrder({ versions, latest: { key, sourceTime, requestId } }: KeyHistory): Finding[] {
  const last = versions.slice(-3);
  const [, third, second] = last;
  const adults = last.map((version) => staysOf(version)[0]?.adults).join(",");
  // They arrived in the required order, and the late one has its own source time.
  if (
    adults === ADULTS_AS_SENT &&
    third !== undefined &&
    second?.outcome === "applied" &&
    second.sourceTime >= third.sourceTime
  ) {
    const reason = `${key}: the change to 2 adults was made before the change to 3 but arrived after it with a newer time (${second.sourceTime}), so 2 adults are current. Set lastModifiedDateTime to the time of the change in your system, not of sending.`;
    return [wrong(reason, third.requestId, second.requestId)];
  }
  const late = versions.findLast(({ outcome }) => outcome === "stale");
  const reason = `${key}: the version of ${late?.sourceTime} arrived late and is kept in the history; the version of ${sourceTime} is current.`;
  return late === undefined ? [] : [right(reason, late.requestId, requestId)];
}

/** Contract, "Records": the newest source time wins, in any order of arrival. */
export const outOfOrder: Step = {
  name: "out-of-order",
  title: "A change that arrives late",
  docs: "contract#identity-and-order",
  instruction: () =>
    "Book a reservation with 1 adult, change it to 2, then to 3 (roomStays/0/numberOfAdults). Send the first version, then the third, then the second, as if it had been delayed, each with the lastModifiedDateTime of its own change.",
  notYet: "No older version of a reservation has arrived after a newer one.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfOutOfOrder),
};
