import type pg from "pg";
import { canonicalLabel } from "../contract/labels.ts";
import { type Warning, WarningList } from "../contract/warning.ts";
import type { ResourceLetter } from "../state/version-tables.ts";
import type { ApplicableRecord } from "./record.ts";

/** Mappings change rarely and by hand; a new one is honoured within this time. */
const MAPPING_AGE_MS_MAX = 5_000;
const PROPERTIES_REMEMBERED_MAX = 20_000;
/** A hotel has some tens of room types: past this many, a feed is naming something else, and no more are kept. */
const ROOM_TYPES_MAX = 2_000;

interface LabelMapping {
  readonly readAt: number;
  readonly labels: ReadonlySet<string>;
}

/**
 * Warnings that depend on more than the record: a label that nobody has mapped, a room type that the property's inventory
 * feed never named (once it has named any). The owner of a bucket is the only one who writes its room types, so they
 * are remembered; `forget` after a transaction that failed or a bucket that was lost.
 */
export class ContextWarnings {
  readonly #pool: pg.Pool;
  readonly #client: pg.ClientBase;
  readonly #roomTypes = new Map<number, Set<string>>();
  readonly #mappings = new Map<string, LabelMapping>();
  #named: { bucket: number; property_id: number; room_type_code: string }[] = [];

  /** `client` sees the state schema on its search path; `pool` is for shared settings. */
  constructor(pool: pg.Pool, client: pg.ClientBase) {
    this.#pool = pool;
    this.#client = client;
  }

  /** All warnings of a record, bounded as a WarningList is: its own and those of its context. Inventory records teach the room types. */
  async of(record: ApplicableRecord): Promise<readonly Warning[]> {
    const { of, roomTypeCodes, warnings, clientCode, incoming } = record;
    const known = await this.#roomTypesOf(of.bucket, of.propertyId);
    if (of.resource === "i") {
      for (const code of roomTypeCodes) {
        if (known.has(code) || known.size >= ROOM_TYPES_MAX) continue;
        known.add(code);
        this.#named.push({ bucket: of.bucket, property_id: of.propertyId, room_type_code: code });
      }
      return warnings;
    }
    const found = new WarningList();
    if (incoming.status !== null && !(await this.#isMapped(clientCode, of.resource, incoming.status))) {
      found.add(
        "status.unmapped",
        [of.resource === "r" ? "status" : "groupStatusCode"],
        `The label ${JSON.stringify(incoming.status.slice(0, 64))} has no mapping: it is kept, but holds no inventory until it is mapped.`,
      );
    }
    found.addListed(warnings);
    if (known.size > 0) {
      for (const code of roomTypeCodes) {
        if (known.has(code)) continue;
        found.add(
          "room-type.unknown",
          [of.resource === "r" ? "roomStays" : "groupBlocks"],
          `The room type ${JSON.stringify(code.slice(0, 64))} has not been named by this property's inventory.`,
        );
      }
    }
    return found.toArray();
  }

  /** Writes the room types that this transaction named first. */
  async write(client: pg.ClientBase): Promise<void> {
    if (this.#named.length === 0) return;
    await client.query(
      `insert into known_room_type (bucket, property_id, room_type_code)
       select * from json_to_recordset($1::json) as n (bucket smallint, property_id integer, room_type_code text)
       on conflict do nothing`,
      [JSON.stringify(this.#named)],
    );
    this.#named = [];
  }

  forget(): void {
    this.#roomTypes.clear();
    this.#named = [];
  }

  async #roomTypesOf(bucket: number, propertyId: number): Promise<Set<string>> {
    const remembered = this.#roomTypes.get(propertyId);
    if (remembered !== undefined) return remembered;
    const { rows } = await this.#client.query<{ room_type_code: string }>({
      name: "known-room-types",
      text: "select room_type_code from known_room_type where bucket = $1 and property_id = $2",
      values: [bucket, propertyId],
    });
    if (this.#roomTypes.size >= PROPERTIES_REMEMBERED_MAX) this.#roomTypes.clear();
    const known = new Set(rows.map((row) => row.room_type_code));
    this.#roomTypes.set(propertyId, known);
    return known;
  }

  async #isMapped(clientCode: string, resource: ResourceLetter, label: string): Promise<boolean> {
    if (canonicalLabel(resource === "r" ? "reservations" : "groups", label) !== undefined) return true;
    const mapping = this.#mappings.get(clientCode);
    if (mapping !== undefined && performance.now() - mapping.readAt < MAPPING_AGE_MS_MAX) {
      return mapping.labels.has(`${resource}${label}`);
    }
    const { rows } = await this.#pool.query<{ resource: ResourceLetter; label: string }>(
      "select resource, label from bellhop.status_mapping where client_code = $1",
      [clientCode],
    );
    const labels = new Set(rows.map((row) => `${row.resource}${row.label}`));
    this.#mappings.set(clientCode, { readAt: performance.now(), labels });
    return labels.has(`${resource}${label}`);
  }
}
