import type { Resource } from "./resource.ts";

/** A field that may say who somebody is. */
export interface PersonalField {
  /** From the record to the field; `*` stands for every item of a list. */
  readonly path: string;
  /** Its text points to one person by itself, so it is looked for elsewhere, too, when a guest is erased. */
  readonly identifies?: true;
}

/**
 * Every field of the contract that may hold personal data, whatever it is called for: what an erasure takes out of a record
 * (docs/privacy.md says why each, and why the others stay). No count, outcome or figure is made of any of them. Members that the
 * contract does not name are taken out, too: nobody knows what they hold.
 */
export const PERSONAL_FIELDS: Readonly<Record<Resource, readonly PersonalField[]>> = {
  inventories: [{ path: "correlationId" }],
  reservations: [
    { path: "correlationId" },
    { path: "confirmationNumber", identifies: true },
    { path: "cancellationReason" },
    { path: "primarySharer" },
    { path: "sharers" },
    { path: "roomStays/*/roomNumber" },
    { path: "roomStays/*/services/*/serviceName" },
    { path: "profiles/*/id", identifies: true },
    { path: "profiles/*/name", identifies: true },
    { path: "profiles/*/context" },
  ],
  groups: [
    { path: "correlationId" },
    { path: "name", identifies: true },
    { path: "description" },
    { path: "salesPerson" },
    { path: "services/*/serviceName" },
  ],
};

/** Where profiles say who they are: what a guest is found by, and what is stripped on arrival where that is set. */
export const PROFILE_ID = "profiles/*/id";
export const PROFILE_NAME = "profiles/*/name";
