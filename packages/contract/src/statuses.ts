/** What a reservation or group status means, until a client's own mapping says otherwise. */
export interface KnownStatus {
  /** The one word for all its spellings. */
  readonly canonical: string;
  /** Whether it holds inventory: rooms under it are on the books. */
  readonly deducts: boolean;
  /** The usual spellings, without regard to case; a space, hyphen or underscore between words may be any of them or none. */
  readonly spellings: readonly string[];
}

/**
 * The default mapping (specification, section 3, leaves the values open). A status that is not here is never guessed:
 * it is kept, warned about, and does not deduct until someone maps it. A no-show does not deduct: nobody came.
 * Checked-out stays deduct: the nights were sold.
 */
export const KNOWN_STATUSES = {
  reservations: [
    { canonical: "RESERVED", deducts: true, spellings: ["RESERVED", "RESERVE", "BOOKED", "DUE IN", "RES"] },
    { canonical: "CONFIRMED", deducts: true, spellings: ["CONFIRMED", "CONFIRM", "CONF", "GUARANTEED"] },
    { canonical: "IN_HOUSE", deducts: true, spellings: ["IN HOUSE", "RESIDENT", "DUE OUT"] },
    { canonical: "CHECKED_IN", deducts: true, spellings: ["CHECKED IN", "CHECK IN", "ARRIVED"] },
    { canonical: "CHECKED_OUT", deducts: true, spellings: ["CHECKED OUT", "CHECK OUT", "DEPARTED"] },
    {
      canonical: "CANCELLED",
      deducts: false,
      spellings: ["CANCELLED", "CANCELED", "CANCEL", "CANCELLATION", "CXL", "CXLD"],
    },
    { canonical: "NO_SHOW", deducts: false, spellings: ["NO SHOW", "NO SHOWED"] },
    { canonical: "WAITLISTED", deducts: false, spellings: ["WAIT LISTED", "WAIT LIST"] },
  ],
  groups: [
    { canonical: "DEFINITE", deducts: true, spellings: ["DEFINITE", "DEF"] },
    { canonical: "TENTATIVE", deducts: false, spellings: ["TENTATIVE", "TENT", "TEN"] },
    { canonical: "PROSPECT", deducts: false, spellings: ["PROSPECT", "PROSPECTIVE", "PROS"] },
    {
      canonical: "CANCELLED",
      deducts: false,
      spellings: ["CANCELLED", "CANCELED", "CANCEL", "CANCELLATION", "CXL", "CAN"],
    },
    { canonical: "LOST", deducts: false, spellings: ["LOST", "LOS"] },
  ],
} as const satisfies Record<"reservations" | "groups", readonly KnownStatus[]>;

/** A spelling without case and without what stands between its words. */
function folded(status: string): string {
  return status
    .trim()
    .toUpperCase()
    .replace(/[\s_-]+/g, "");
}

function bySpelling(statuses: readonly KnownStatus[]): ReadonlyMap<string, KnownStatus> {
  return new Map(
    statuses.flatMap((status) => status.spellings.map((spelling) => [folded(spelling), status] as const)),
  );
}

const BY_SPELLING = {
  reservations: bySpelling(KNOWN_STATUSES.reservations),
  groups: bySpelling(KNOWN_STATUSES.groups),
};

// The longest known spelling is far shorter; a status may have 128 characters and is not worth folding then.
const STATUS_CHARACTERS_MAX = 40;

/**
 * What a status means by default: its canonical word and whether it deducts; undefined when it is not known.
 *
 * @example knownStatus("reservations", "In-House")?.canonical // "IN_HOUSE"
 */
export function knownStatus(resource: "reservations" | "groups", status: string): KnownStatus | undefined {
  return status.length > STATUS_CHARACTERS_MAX ? undefined : BY_SPELLING[resource].get(folded(status));
}
