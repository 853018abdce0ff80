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
  type Evidence,
  type Finding,
  historiesOf,
  judgementOf,
  type KeyHistory,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";

/** What would make its revenue or its nights count wrongly. */
const SLIPS_OF_RESERVATION: ReadonlySet<string> = new Set([
  "reservation.revenue-total",
  "reservation.revenue-summary",
  "reservation.outside-stay",
  "status.unmapped",
  "count.negative",
]);

/** What a reservation lacks that a revenue manager asks about; nothing for a whole one. */
function lackingOf(record: SeenRecord): string[] {
  const { fields } = record;
  const [stay] = listOf(fields, "roomStays");
  const days = [...revenueDates(record)];
  const stays = staysOf(record);
  const nights = Math.max(0, ...stays.map((one) => one.nights));
  const present: readonly (readonly [string, boolean])[] = [
    ["bookingDateTime", textOf(fields, "bookingDateTime") !== undefined],
    ["numberOfRooms", numberOf(fields, "numberOfRooms") !== undefined],
    ["channel", textOf(fields, "channel") !== undefined],
    ["a stay of a night or more", nights > 0],
    ["roomStays/0/marketSegmentCode", stay !== undefined && textOf(stay, "marketSegmentCode") !== undefined],
    ["roomStays/0/rateCode", stay !== undefined && textOf(stay, "rateCode") !== undefined],
    ["roomStays/0/numberOfAdults", stay !== undefined && numberOf(stay, "numberOfAdults") !== undefined],
    [
      "stayRevenue/daily of every night",
      stays.every((one) => days.filter((date) => hasNight(one, date)).length === one.nights),
    ],
  ];
  return present.flatMap(([name, isThere]) => (isThere ? [] : [name]));
}

function findingsOfReservation(latest: readonly SeenRecord[]): Finding[] {
  return latest.flatMap((record) => {
    const { key, index, requestId } = record;
    const slip = record.warnings.find(({ code }) => SLIPS_OF_RESERVATION.has(code));
    if (slip !== undefined) return wrong(`${key} (/${index}): ${slip.message} (${slip.code}).`, requestId);
    if (!isLive(record) || lackingOf(record).length > 0) return [];
    return right(`${key} has its stay, rate, segment, channel and the revenue of every night.`, requestId);
  });
}

function notYetReservation(latest: readonly SeenRecord[]): string {
  const nearest = latest
    .filter(isLive)
    .map((record) => ({ record, lacking: lackingOf(record) }))
    .toSorted((left, right) => left.lacking.length - right.lacking.length)[0];
  if (nearest === undefined) return "No reservation that holds a room has been seen.";
  return `The most complete reservation, ${nearest.record.key}, lacks ${nearest.lacking.join(", ")}.`;
}

function latestOf(evidence: Evidence): SeenRecord[] {
  return historiesOf(evidence, "reservations").map(({ latest }) => latest);
}

/** Specification section 2.2. */
export const reservation: Step = {
  name: "reservation",
  title: "A reservation with all that it is asked about",
  instruction: ({ clientCode, propertyCode }) =>
    `Book two nights or more in ${clientCode}/${propertyCode} and send the reservation with bookingDateTime, numberOfRooms, channel, a room stay with marketSegmentCode, rateCode and numberOfAdults, and stayRevenue.daily with each night once, its total the sum of its parts. No reservation may have a doubtful date, total or an unknown status.`,
  judge: (evidence) => {
    const latest = latestOf(evidence);
    return judgementOf(findingsOfReservation(latest), notYetReservation(latest));
  },
};

/** The last change of one reservation that is no cancellation. */
function findingOfModification({ versions }: KeyHistory): Finding[] {
  const changes = versions.flatMap((version, at) => {
    const before = versions[at - 1];
    const isChange = before !== undefined && version.outcome === "applied" && !isCancelled(version);
    return isChange ? [{ before, version }] : [];
  });
  const last = changes.at(-1);
  if (last === undefined) return [];
  const { before, version } = last;
  const requests = [before.requestId, version.requestId];
  if (version.sourceTime === before.sourceTime)
    return [
      wrong(
        `${version.key} came with other content and the same lastModifiedDateTime ${version.sourceTime}: which of the two is the newer one is left to chance. Every change moves lastModifiedDateTime on.`,
        ...requests,
      ),
    ];
  return [right(`${version.key} was sent whole again, modified at ${version.sourceTime}.`, ...requests)];
}

function findingsOfModification(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOfModification);
}

/** Contract, "Records": a newer record replaces the older whole, and the newest source time wins. */
export const modification: Step = {
  name: "modification",
  title: "A modified reservation",
  instruction: () =>
    "Change a reservation that you have sent (a night more, another room type) and send it again: the same reservationId, the whole record, a newer lastModifiedDateTime.",
  judge: (evidence) =>
    judgementOf(
      findingsOfModification(evidence),
      "No reservation has been sent a second time with other content.",
    ),
};

function findingOfCancellation({ versions, latest }: KeyHistory): Finding[] {
  const { key, requestId, fields } = latest;
  const cancelledAt = textOf(fields, "cancellationDateTime");
  if (!isCancelled(latest)) {
    if (cancelledAt === undefined) return [];
    return [
      wrong(
        `${key} has a cancellationDateTime, and its status ${JSON.stringify(textOf(fields, "status"))} still holds the room. Send the status of a cancellation with it.`,
        requestId,
      ),
    ];
  }
  if (cancelledAt === undefined)
    return [
      wrong(
        `${key} is cancelled and has no cancellationDateTime: when it was given back cannot be told.`,
        requestId,
      ),
    ];
  const booked = versions.find(isLive);
  // Booked before the certification, or in another system: it shows nothing of how a cancellation comes.
  if (booked === undefined) return [];
  return [right(`${key} was booked, and cancelled at ${cancelledAt}.`, booked.requestId, requestId)];
}

function findingsOfCancellation(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOfCancellation);
}

export const cancellation: Step = {
  name: "cancellation",
  title: "A cancelled reservation",
  instruction: () =>
    "Book a reservation, then cancel it: the same reservationId with its room stays, status CANCELLED (or a spelling of it that the default mapping knows, or your own word once your operator has mapped it as holding nothing), cancellationDateTime and, if there is one, cancellationReason. A cancelled reservation is sent, never left out.",
  judge: (evidence) =>
    judgementOf(
      findingsOfCancellation(evidence),
      "No reservation that was sent as booked has come again as cancelled.",
    ),
};

function findingsOfDayUse(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(({ latest }) => {
    const day = staysOf(latest).find(({ arrival, departure }) => arrival === departure)?.arrival;
    if (day === undefined || !isLive(latest)) return [];
    const { key, requestId } = latest;
    if (!revenueDates(latest).has(day))
      return wrong(
        `${key} is a day use of ${day} whose stayRevenue.daily has no entry of that date: its revenue is lost. A day use has no night, and its revenue on its day.`,
        requestId,
      );
    return right(`${key} is a day use of ${day} with its revenue.`, requestId);
  });
}

export const dayUse: Step = {
  name: "day-use",
  title: "A day use",
  instruction: () =>
    "Book a room for a day, without a night: departureDate is the arrivalDate, and stayRevenue.daily has one entry, of that date.",
  judge: (evidence) =>
    judgementOf(
      findingsOfDayUse(evidence),
      "No reservation that departs on the day of its arrival has been seen.",
    ),
};

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

function findingsOfShare(evidence: Evidence): Finding[] {
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
    judgementOf(findingsOfShare(evidence), "No two reservations with the same shareId have been seen."),
};

/** Adults of the three versions in the order in which they are to arrive: the second comes last. */
const ADULTS_AS_SENT = "1,3,2";

/** The three versions came in the order that was asked for, and the late one had a time of its own sending. */
function isStampedAnew({ versions }: KeyHistory): boolean {
  const last = versions.slice(-3);
  const adults = last.map((version) => staysOf(version)[0]?.adults).join(",");
  const [, third, second] = last;
  return (
    adults === ADULTS_AS_SENT &&
    third !== undefined &&
    second !== undefined &&
    second.outcome === "applied" &&
    second.sourceTime >= third.sourceTime
  );
}

function findingOfOutOfOrder(history: KeyHistory): Finding[] {
  const { versions, latest } = history;
  if (isStampedAnew(history)) {
    const [, third, second] = versions.slice(-3);
    return [
      wrong(
        `${latest.key}: the change to 2 adults was made before the one to 3, came after it, and said it was the newer one (${second?.sourceTime}), so 2 adults are what counts now. lastModifiedDateTime is when the change was made in your system, not when it is sent.`,
        ...[third?.requestId, second?.requestId].filter((id) => id !== undefined),
      ),
    ];
  }
  const late = versions.findLast(({ outcome }) => outcome === "stale");
  if (late === undefined) return [];
  return [
    right(
      `${late.key}: the version of ${late.sourceTime} came late and is kept in the history; the one of ${latest.sourceTime} stayed current.`,
      late.requestId,
      latest.requestId,
    ),
  ];
}

function findingsOfOutOfOrder(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOfOutOfOrder);
}

/** Contract, "Records": the newest source time wins, in whatever order records arrive. */
export const outOfOrder: Step = {
  name: "out-of-order",
  title: "A change that arrives late",
  instruction: () =>
    "Book a reservation with 1 adult, change it to 2, then to 3 (roomStays/0/numberOfAdults). Send the first version, then the third, then the second, as if it had been held up, each with the lastModifiedDateTime of its own change.",
  judge: (evidence) =>
    judgementOf(
      findingsOfOutOfOrder(evidence),
      "No older version of a reservation has come after a newer one.",
    ),
};
