/**
 * Whether a record of the same content is sure to have no warnings: always, or for as long as the inventory of its property
 * has named no room type (once it has, a room type that it never named is a warning).
 */
export type WarningFree = "always" | "while-unnamed" | "no";

/** As `current_record.warning_free` has it. */
const STORED: Readonly<Record<WarningFree, boolean | null>> = {
  always: true,
  "while-unnamed": null,
  no: false,
};

export function storedWarningFree(warningFree: WarningFree): boolean | null {
  return STORED[warningFree];
}

export function warningFreeOfStored(stored: boolean | null): WarningFree {
  if (stored === null) return "while-unnamed";
  return stored ? "always" : "no";
}
