/** The three kinds of records, as their endpoint's path names them (specification, section 1). */
export type Resource = "inventories" | "reservations" | "groups";

/** Every resource, in the order of the specification. */
export const RESOURCES: readonly Resource[] = ["inventories", "reservations", "groups"];

/** What is made of each resource, by its name. */
export function byResource<Made>(make: (resource: Resource) => Made): Readonly<Record<Resource, Made>> {
  return { inventories: make("inventories"), reservations: make("reservations"), groups: make("groups") };
}

/** A resource as the one letter that the database stores. */
export type ResourceLetter = "i" | "r" | "g";

const LETTERS = { inventories: "i", reservations: "r", groups: "g" } as const;
const RESOURCE_OF_LETTER = { i: "inventories", r: "reservations", g: "groups" } as const;

export function letterOf(resource: Resource): ResourceLetter {
  return LETTERS[resource];
}

export function resourceOf(letter: ResourceLetter): Resource {
  return RESOURCE_OF_LETTER[letter];
}
