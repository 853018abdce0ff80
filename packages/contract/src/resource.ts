/** The kind of a record, as in the path of its endpoint (specification, section 1). */
export type Resource = "inventories" | "reservations" | "groups";

export const RESOURCES: readonly Resource[] = ["inventories", "reservations", "groups"];

/** A value per resource. */
export function byResource<Made>(make: (resource: Resource) => Made): Readonly<Record<Resource, Made>> {
  return { inventories: make("inventories"), reservations: make("reservations"), groups: make("groups") };
}

/** A resource as stored in the database. */
export type ResourceLetter = "i" | "r" | "g";

const LETTERS = { inventories: "i", reservations: "r", groups: "g" } as const;
const RESOURCE_OF_LETTER = { i: "inventories", r: "reservations", g: "groups" } as const;

export function letterOf(resource: Resource): ResourceLetter {
  return LETTERS[resource];
}

export function resourceOf(letter: ResourceLetter): Resource {
  return RESOURCE_OF_LETTER[letter];
}
