import type pg from "pg";
import { canonicalLabel } from "#contract/labels.ts";
import { type Warning, WarningList } from "#contract/warning.ts";
import { BUCKET_TERM, queryOfBucket } from "../platform/db/dialect.ts";
import { insertRows } from "../platform/db/write-rows.ts";
import type { ApplicableRecord } from "./record.ts";
import type { RecordKey } from "./state/record-state.ts";
import type { ResourceLetter } from "./state/version-tables.ts";
import type { WarningFree } from "./state/warning-free.ts";

const INTO = {
  table: "known_room_type",
  columns: { bucket: "smallint", property_id: "integer", room_type_code: "text" },
  skipsExisting: true,
} as const;
const KNOWN_ROOM_TYPES = {
  name: "known-room-types",
  text: `select t.property_id, t.room_type_code from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
    join known_room_type as t using (bucket, property_id)
    where true ${BUCKET_TERM}`,
};

/** Mappings change rarely and by hand; a new one is honoured within this time. */
const MAPPING_AGE_MS_MAX = 5_000;
const PROPERTIES_REMEMBERED_MAX = 20_000;
/** A hotel has some tens of room types: past this many, a feed is naming something else, and no more are kept. */
const ROOM_TYPES_MAX = 2_000;

/** Labels of a feed are few; folding one (packages/contract/src/labels.ts) for each record of it would cost more than all the rest here. */
const LABELS_REMEMBERED_MAX = 1_000;
const mappedByDefault = new Map<string, boolean>();

function isMappedByDefault(resource: ResourceLetter, label: string): boolean {
  const text = `${resource}${label}`;
  let isMapped = mappedByDefault.get(text);
  if (isMapped === undefined) {
    isMapped = canonicalLabel(resource === "r" ? "reservations" : "groups", label) !== undefined;
    if (mappedByDefault.size >= LABELS_REMEMBERED_MAX) mappedByDefault.clear();
    mappedByDefault.set(text, isMapped);
  }
  return isMapped;
}

/** The warnings of a record, and whether later records of its content are sure to have none. */
export interface TellingOf {
  readonly warnings: readonly Warning[];
  readonly warningFree: WarningFree;
}

interface LabelMapping {
  readonly readAt: number;
  readonly labels: ReadonlySet<string>;
}

/**
 * Warnings that depend on more than the record: a label that nobody has mapped, a room type that the property's inventory
 * feed never named (once it has named any). The owner of a bucket is the only one who writes its room types, so they
 * are remembered; `forget` after a transaction that failed, and when buckets were taken.
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

  /**
   * Those of the properties of these records whose inventory has named no room type, and names none among these records:
   * while they are applied, nothing that is quiet "while-unnamed" has warnings.
   */
  async unnamedProperties(records: readonly ApplicableRecord[]): Promise<ReadonlySet<number>> {
    const properties = new Map(records.map(({ of }) => [of.propertyId, of]));
    await this.#loadRoomTypes(properties);
    const unnamed = new Set<number>();
    for (const id of properties.keys()) if (this.#roomTypes.get(id)?.size === 0) unnamed.add(id);
    for (const { of } of records) if (of.resource === "i") unnamed.delete(of.propertyId);
    return unnamed;
  }

  /**
   * Loads what else `of` needs for these records, which it is then called with one by one and in order. They are among
   * those that `unnamedProperties` was last asked for.
   */
  async prepare(records: readonly ApplicableRecord[]): Promise<void> {
    const unmapped = new Set<string>();
    for (const { of, clientCode, content } of records) {
      const { status } = content();
      if (status !== null && !isMappedByDefault(of.resource, status)) unmapped.add(clientCode);
    }
    for (const clientCode of unmapped) await this.#loadMapping(clientCode);
  }

  /**
   * All warnings of a record, bounded as a WarningList is: its own and those of its context, which `prepare` has loaded.
   * Inventory records teach the room types. `quiet`: later records of this content have no warnings either, as room
   * types are never forgotten and default labels never change.
   */
  of({ of, clientCode, content }: ApplicableRecord): TellingOf {
    const { roomTypeCodes, warnings, status } = content();
    const known = this.#roomTypes.get(of.propertyId);
    if (known === undefined) throw new Error(`The room types of property ${of.propertyId} were not loaded.`);
    if (of.resource === "i") {
      let isTaught = true;
      for (const code of roomTypeCodes) {
        if (known.has(code)) continue;
        isTaught = known.size < ROOM_TYPES_MAX;
        if (!isTaught) break;
        known.add(code);
        this.#named.push({ bucket: of.bucket, property_id: of.propertyId, room_type_code: code });
      }
      return { warnings, warningFree: warnings.length === 0 && isTaught ? "always" : "no" };
    }
    const isUnmapped = status !== null && !this.#isMapped(clientCode, of.resource, status);
    const unknown = known.size === 0 ? [] : roomTypeCodes.filter((code) => !known.has(code));
    if (!isUnmapped && unknown.length === 0) {
      const isSettled = known.size > 0 || roomTypeCodes.length === 0;
      const isDefault = status === null || isMappedByDefault(of.resource, status);
      if (warnings.length > 0 || !isDefault) return { warnings, warningFree: "no" };
      return { warnings, warningFree: isSettled ? "always" : "while-unnamed" };
    }
    const found = new WarningList();
    if (isUnmapped) {
      found.add(
        "status.unmapped",
        [of.resource === "r" ? "status" : "groupStatusCode"],
        `The label ${JSON.stringify(status.slice(0, 64))} has no mapping: it is kept, but holds no inventory until it is mapped.`,
      );
    }
    found.addListed(warnings);
    for (const code of unknown) {
      found.add(
        "room-type.unknown",
        [of.resource === "r" ? "roomStays" : "groupBlocks"],
        `The room type ${JSON.stringify(code.slice(0, 64))} has not been named by this property's inventory.`,
      );
    }
    return { warnings: found.toArray(), warningFree: "no" };
  }

  /** Writes the room types that this transaction named first. */
  async write(client: pg.ClientBase): Promise<void> {
    await insertRows(client, INTO, this.#named);
    this.#named = [];
  }

  forget(): void {
    this.#roomTypes.clear();
    this.#named = [];
  }

  async #loadRoomTypes(properties: ReadonlyMap<number, RecordKey>): Promise<void> {
    let missing = [...properties.values()].filter(({ propertyId }) => !this.#roomTypes.has(propertyId));
    if (missing.length === 0) return;
    if (this.#roomTypes.size + missing.length > PROPERTIES_REMEMBERED_MAX) {
      this.#roomTypes.clear();
      missing = [...properties.values()];
    }
    const { rows } = await queryOfBucket<{ property_id: number; room_type_code: string }>(
      this.#client,
      KNOWN_ROOM_TYPES,
      [missing.map(({ bucket }) => bucket), missing.map(({ propertyId }) => propertyId)],
      missing,
    );
    for (const { propertyId } of missing) this.#roomTypes.set(propertyId, new Set());
    for (const { property_id, room_type_code } of rows) this.#roomTypes.get(property_id)?.add(room_type_code);
  }

  async #loadMapping(clientCode: string): Promise<void> {
    const mapping = this.#mappings.get(clientCode);
    if (mapping !== undefined && performance.now() - mapping.readAt < MAPPING_AGE_MS_MAX) return;
    const { rows } = await this.#pool.query<{ resource: ResourceLetter; label: string }>(
      "select resource, label from bellhop.status_mapping where client_code = $1",
      [clientCode],
    );
    const labels = new Set(rows.map((row) => `${row.resource}${row.label}`));
    this.#mappings.set(clientCode, { readAt: performance.now(), labels });
  }

  #isMapped(clientCode: string, resource: ResourceLetter, label: string): boolean {
    if (isMappedByDefault(resource, label)) return true;
    return this.#mappings.get(clientCode)?.labels.has(`${resource}${label}`) === true;
  }
}
