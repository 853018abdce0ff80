import type { Group, Inventory, Reservation } from "./api-types.ts";
import type { Resource } from "./resource.ts";

/** One change of current state, as the feed tells it. */
export interface Change<Of = Inventory | Reservation | Group> {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** The occupancyDate, reservationId or groupCode. */
  readonly key: string;
  /** The record's createDateTime or lastModifiedDateTime. */
  readonly sourceTime: string;
  readonly receivedAt: string;
  /** The batch that brought it, and the record's place in that. */
  readonly requestId: string;
  readonly index: number;
  readonly change: "created" | "updated";
  /** The record as it was sent. */
  readonly record: Of;
  /**
   * Where to go on behind this change: keep it once the change is dealt with. Undefined in the first answer of a feed that was
   * begun without one, for changes that have none of their own: going on is then from the beginning.
   */
  readonly cursor: string | undefined;
}
