/** The default meaning of a reservation or group status, unless a client has its own mapping. */
export interface KnownStatus {
  readonly canonical: string;
  /** Whether rooms with this status are on the books. */
  readonly deducts: boolean;
  /** Matched regardless of case, and of spaces, hyphens and underscores between words. */
  readonly spellings: readonly string[];
}

/**
 * The default mapping (specification, section 3, leaves the values open). Any other status is kept with a warning, and does not deduct
 * until an operator maps it. A no-show does not deduct. Checked-out stays do: the nights were sold.
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

/** A spelling without case and separators. */
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

// Longer than any known spelling.
const STATUS_CHARACTERS_MAX = 40;

/**
 * The default meaning of a status; undefined if it is not known.
 *
 * @example knownStatus("reservations", "In-House")?.canonical // "IN_HOUSE"
 */
export function knownStatus(resource: "reservations" | "groups", status: string): KnownStatus | undefined {
  return status.length > STATUS_CHARACTERS_MAX ? undefined : BY_SPELLING[resource].get(folded(status));
}
