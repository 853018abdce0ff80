import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { knownStatus } from "#contract/statuses.ts";
import { Warnings } from "#contract/warnings.ts";
import { insertRows } from "../platform/db/copy.ts";
import { ofBucket, queryOfBucket } from "../platform/db/dialect.ts";
import type { ApplicableRecord, RecordKey, WarningFree } from "./state/record.ts";

const INTO = {
  table: "known_room_type",
  columns: { bucket: "smallint", property_id: "integer", room_type_code: "text" },
  skipsExisting: true,
} as const;
const KNOWN_ROOM_TYPES = {
  name: "known-room-types",
  ...ofBucket(
    4,
    ({ andBucket }) => `select named.property_id, named.room_type_code
    from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
    cross join lateral (
      select t.property_id, t.room_type_code from known_room_type as t
      where t.bucket = wanted.bucket and t.property_id = wanted.property_id ${andBucket}
      limit $3::integer
    ) as named`,
  ),
};
/** Properties per statement that reads room types. */
const PROPERTIES_READ_MAX = 100;

/** How long cached status mappings are used. */
const MAPPING_AGE_MS_MAX = 5_000;
const PROPERTIES_REMEMBERED_MAX = 20_000;
/** Memory of the room types of all remembered properties: a million usual codes. */
const REMEMBERED_BYTES_MAX = 64 * 1_048_576;
/** Of a code in a set, besides its characters. */
const CODE_BYTES = 48;
const bytesOfCode = (code: string) => CODE_BYTES + 2 * code.length;
/** A hotel has tens of room types. From this limit on the field holds something else: no more are stored, and none is unknown. */
const ROOM_TYPES_MAX = 300;
/** Stands for the room types of each property with so many, which nothing compares. No code has a NUL. */
const TOO_MANY = new Set(Array.from({ length: ROOM_TYPES_MAX }, (_, at) => `\0${at}`));

/** Caches `knownStatus`: folding the status of each record would dominate the cost of warnings. */
const STATUSES_REMEMBERED_MAX = 1_000;
const mappedByDefault = new Map<string, boolean>();

function isMappedByDefault(resource: ResourceLetter, status: string): boolean {
  const text = `${resource}${status}`;
  let isMapped = mappedByDefault.get(text);
  if (isMapped === undefined) {
    isMapped = knownStatus(resource === "r" ? "reservations" : "groups", status) !== undefined;
    if (mappedByDefault.size >= STATUSES_REMEMBERED_MAX) mappedByDefault.clear();
    mappedByDefault.set(text, isMapped);
  }
  return isMapped;
}

/** The warnings of a record, and whether later records with the same content have none. */
export interface WarningsOf {
  readonly warnings: Warnings;
  readonly warningFree: WarningFree;
}

interface CachedMapping {
  readonly readAt: number;
  readonly statuses: ReadonlySet<string>;
}

/**
 * Warnings that depend on more than the record: an unmapped status, and a room type that the property's inventory never named.
 * Only the owner of a bucket writes its room types, so they are cached until `forget`.
 */
export class ContextWarnings {
  readonly #pool: pg.Pool;
  readonly #client: pg.ClientBase;
  readonly #roomTypes = new Map<number, Set<string>>();
  #rememberedBytes = 0;
  readonly #mappings = new Map<string, CachedMapping>();
  #named: { bucket: number; property_id: number; room_type_code: string }[] = [];

  /** `client` has the state schema on its search path; `pool` is for shared settings. */
  constructor(pool: pg.Pool, client: pg.ClientBase) {
    this.#pool = pool;
    this.#client = client;
  }

  /** The properties whose inventory has named no room type, neither before nor in these records. Loads their room types. */
  async unnamedProperties(records: readonly ApplicableRecord[]): Promise<ReadonlySet<number>> {
    const properties = new Map(records.map(({ of }) => [of.propertyId, of]));
    await this.#loadRoomTypes(properties);
    const unnamed = new Set<number>();
    for (const id of properties.keys()) if (this.#roomTypes.get(id)?.size === 0) unnamed.add(id);
    for (const { of } of records) if (of.resource === "i") unnamed.delete(of.propertyId);
    return unnamed;
  }

  /** Loads the status mappings that `of` needs for these records. Room types are loaded by `unnamedProperties`. */
  async prepare(records: readonly ApplicableRecord[]): Promise<void> {
    const unmapped = new Set<string>();
    for (const { of, clientCode, content } of records) {
      const { status } = content();
      if (status !== null && !isMappedByDefault(of.resource, status)) unmapped.add(clientCode);
    }
    for (const clientCode of unmapped) await this.#loadMapping(clientCode);
  }

  /**
   * All warnings of a record. Inventory adds its room types. Room types are never removed and default mappings never change, so
   * content without warnings stays free of them.
   */
  of({ of, clientCode, content }: ApplicableRecord): WarningsOf {
    const { roomTypeCodes, warnings, status } = content();
    const known = this.#roomTypes.get(of.propertyId);
    if (known === undefined) throw new Error(`The room types of property ${of.propertyId} were not loaded.`);
    if (of.resource === "i") {
      let allKnown = true;
      for (const code of roomTypeCodes) {
        if (known.has(code)) continue;
        allKnown = known.size < ROOM_TYPES_MAX;
        if (!allKnown) break;
        known.add(code);
        this.#rememberedBytes += bytesOfCode(code);
        this.#named.push({ bucket: of.bucket, property_id: of.propertyId, room_type_code: code });
      }
      return { warnings, warningFree: warnings.count === 0 && allKnown ? "always" : "no" };
    }
    const isUnmapped = status !== null && !this.#isMapped(clientCode, of.resource, status);
    const isChecked = known.size > 0 && known.size < ROOM_TYPES_MAX;
    const unknown = isChecked ? roomTypeCodes.filter((code) => !known.has(code)) : [];
    if (!isUnmapped && unknown.length === 0) {
      const isSettled = known.size > 0 || roomTypeCodes.length === 0;
      const isDefault = status === null || isMappedByDefault(of.resource, status);
      if (warnings.count > 0 || !isDefault) return { warnings, warningFree: "no" };
      return { warnings, warningFree: isSettled ? "always" : "while-unnamed" };
    }
    const count = (isUnmapped ? 1 : 0) + warnings.count + unknown.length;
    const all = new Warnings(count, (list) => {
      if (isUnmapped) {
        list.add(
          "status.unmapped",
          of.resource === "r" ? "/status" : "/groupStatusCode",
          `Status ${JSON.stringify(status.slice(0, 64))} is not mapped: the record is kept, but does not count on the books until the status is mapped.`,
        );
      }
      warnings.addTo(list);
      for (const code of unknown) {
        if (list.isFull) break;
        list.add(
          "room-type.unknown",
          of.resource === "r" ? "/roomStays" : "/groupBlocks",
          `The room type ${JSON.stringify(code.slice(0, 64))} has not been named by this property's inventory.`,
        );
      }
    });
    return { warnings: all, warningFree: "no" };
  }

  /** Writes the room types that are new in this transaction. */
  async write(client: pg.ClientBase): Promise<void> {
    await insertRows(client, INTO, this.#named);
    this.#named = [];
  }

  forget(): void {
    this.#forgetRoomTypes();
    this.#named = [];
  }

  #forgetRoomTypes(): void {
    this.#roomTypes.clear();
    this.#rememberedBytes = 0;
  }

  async #loadRoomTypes(properties: ReadonlyMap<number, RecordKey>): Promise<void> {
    let missing = [...properties.values()].filter(({ propertyId }) => !this.#roomTypes.has(propertyId));
    if (missing.length === 0) return;
    const isFull =
      this.#roomTypes.size + missing.length > PROPERTIES_REMEMBERED_MAX ||
      this.#rememberedBytes > REMEMBERED_BYTES_MAX;
    if (isFull) {
      this.#forgetRoomTypes();
      missing = [...properties.values()];
    }
    for (let from = 0; from < missing.length; from += PROPERTIES_READ_MAX)
      await this.#readRoomTypes(missing.slice(from, from + PROPERTIES_READ_MAX));
  }

  async #readRoomTypes(of: readonly RecordKey[]): Promise<void> {
    const { rows } = await queryOfBucket<{ property_id: number; room_type_code: string }>(
      this.#client,
      KNOWN_ROOM_TYPES,
      [of.map(({ bucket }) => bucket), of.map(({ propertyId }) => propertyId), ROOM_TYPES_MAX],
      of,
    );
    const named = Map.groupBy(rows, ({ property_id }) => property_id);
    for (const { propertyId } of of) {
      const codes = (named.get(propertyId) ?? []).map(({ room_type_code }) => room_type_code);
      if (codes.length >= ROOM_TYPES_MAX) this.#roomTypes.set(propertyId, TOO_MANY);
      else {
        this.#roomTypes.set(propertyId, new Set(codes));
        for (const code of codes) this.#rememberedBytes += bytesOfCode(code);
      }
    }
  }

  async #loadMapping(clientCode: string): Promise<void> {
    const mapping = this.#mappings.get(clientCode);
    if (mapping !== undefined && performance.now() - mapping.readAt < MAPPING_AGE_MS_MAX) return;
    const { rows } = await this.#pool.query<{ resource: ResourceLetter; status: string }>(
      "select resource, status from bellhop.status_mapping where client_code = $1",
      [clientCode],
    );
    const statuses = new Set(rows.map((row) => `${row.resource}${row.status}`));
    this.#mappings.set(clientCode, { readAt: performance.now(), statuses });
  }

  #isMapped(clientCode: string, resource: ResourceLetter, status: string): boolean {
    if (isMappedByDefault(resource, status)) return true;
    return this.#mappings.get(clientCode)?.statuses.has(`${resource}${status}`) === true;
  }
}
