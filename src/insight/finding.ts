import type { Schema } from "../platform/http/openapi/model.ts";
import * as field from "./fields.ts";

/** Why a hotel's count may differ from its reservations. */
export const FINDING_KINDS = [
  "wrong-sold-count",
  "rejected",
  "quarantined",
  "changed-since-count",
  "stale",
  "unmapped-label",
  "room-type-spelling",
  "virtual-room-type",
  "room-type-not-listed",
  "room-without-share",
  "share-counted-twice",
  "overlapping-stays",
  "implausible-dates",
  "complimentary-left-out",
  "pickup-not-received",
  "unpicked-block-counted",
  "cancelled-but-sold",
  "day-use-counted",
  "other-room-type-booked",
  "block-without-hold-counted",
  "missing-reservation",
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

const RECORD_FIELDS = {
  resource: field.resource("The resource of the record.", "reservations"),
  key: field.text("Its occupancyDate, reservationId or groupCode.", "R-4821"),
  ...field.placeOf("it"),
};
export type FindingRecord = field.ValuesOf<typeof RECORD_FIELDS>;

const KIND: field.Field<FindingKind> = {
  ...(field.text("The kind of finding; docs/insight.md lists them.", "cancelled-but-sold") as Schema),
  "x-extensible-enum": FINDING_KINDS,
};

export const FINDING = field.objectOf("A possible explanation of a difference.", {
  kind: KIND,
  roomType: field.roomType,
  rooms: field.count("The difference it would explain, in rooms; positive if the hotel counts more.", 1),
  nights: field.count("Reported nights that it covers, at most 31 on either side of the night.", 3),
  nightsExplained: field.count("Nights of these whose difference it would explain.", 3),
  records: field.list("The records concerned.", 10_000, field.objectOf("A record.", RECORD_FIELDS)),
  message: field.text(
    "The explanation as text.",
    'The reservation "R-4821" is "CANCELLED", but may be counted as sold.',
  ),
  action: field.text("What to do next.", "Map the status."),
});
export type Finding = typeof FINDING extends field.Field<infer Value> ? Value : never;
