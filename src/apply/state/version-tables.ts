/** A resource as one letter, as the tables hold it: inventories, reservations, groups. */
export type ResourceLetter = "i" | "r" | "g";

export const RESOURCE_LETTERS = ["i", "r", "g"] as const satisfies readonly ResourceLetter[];

/**
 * The version table of each resource and the composite type of its typed facts, which are stored as that type's text and
 * cast where they are read (docs/decisions/0006).
 */
export const VERSION_TABLES: Readonly<
  Record<ResourceLetter, { readonly table: string; readonly factsType: string }>
> = {
  i: { table: "inventory_version", factsType: "bellhop.inventory_facts" },
  r: { table: "reservation_version", factsType: "bellhop.reservation_facts" },
  g: { table: "group_version", factsType: "bellhop.group_facts" },
};
