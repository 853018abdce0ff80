import { BinaryFields } from "./binary-fields.ts";

/** OIDs of the types of elements, as every PostgreSQL has them (pg_type.dat). */
const TYPE_OIDS = {
  boolean: 16,
  bytea: 17,
  '"char"': 18,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  tid: 27,
  date: 1082,
  timestamptz: 1184,
  numeric: 1700,
  uuid: 2950,
} as const;

export type ElementType = keyof typeof TYPE_OIDS;

const BYTES_AN_ELEMENT = 24;

/**
 * An array of one dimension as a binary parameter of a statement: exactly so many elements as it is made for, written one
 * by one as fields of its type.
 */
export class ArrayParameter extends BinaryFields {
  constructor(type: ElementType, length: number) {
    super(64 + BYTES_AN_ELEMENT * length);
    const head = Buffer.alloc(length === 0 ? 12 : 20);
    head.writeInt32BE(length === 0 ? 0 : 1, 0);
    // There may be nulls; that there are is seen from the elements.
    head.writeInt32BE(1, 4);
    head.writeInt32BE(TYPE_OIDS[type], 8);
    if (length > 0) {
      head.writeInt32BE(length, 12);
      head.writeInt32BE(1, 16);
    }
    this.raw(head);
  }

  /** The parameter; nothing can be added then. */
  finish(): Buffer {
    return this.taken();
  }
}
