/**
 * Whether a record of the same content is sure to have no warnings: always, or for as long as the inventory of its property
 * has named no room type (once it has, a room type that it never named is a warning).
 */
export type Quiet = "always" | "while-unnamed" | "no";

/** As `current_record.quiet` has it. */
const STORED: Readonly<Record<Quiet, boolean | null>> = { always: true, "while-unnamed": null, no: false };

export function storedQuiet(quiet: Quiet): boolean | null {
  return STORED[quiet];
}

export function quietOfStored(stored: boolean | null): Quiet {
  if (stored === null) return "while-unnamed";
  return stored ? "always" : "no";
}
