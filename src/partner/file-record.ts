import { JsonRecord } from "#client";
import { figure } from "../cli/output.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";

/** A line, from 1, and the column of a CSV file if one is meant. */
export interface CellPlace {
  readonly line: number;
  readonly column?: string;
  /** How to write the cell if it is invalid. */
  readonly advice?: string;
}

/** A record of a file, its position, from 0, and its line, from 1. Of a CSV file also its cells by their pointers. */
export class FileRecord extends JsonRecord {
  declare readonly json: Uint8Array;
  declare readonly line: number;
  readonly place: number;
  readonly #cells: ReadonlyMap<string, CellPlace> | undefined;

  constructor(json: Uint8Array, place: number, line: number, cells?: ReadonlyMap<string, CellPlace>) {
    super(json, line);
    this.place = place;
    this.#cells = cells;
  }

  get isOfCsv(): boolean {
    return this.#cells !== undefined;
  }

  /** Where the value at a pointer into the record is, or, if it has no cell, the nearest object or list that has one. */
  locate(pointer: string): CellPlace {
    const cell = this.#cells?.get(pointer);
    if (cell !== undefined || this.#cells === undefined) return cell ?? { line: this.line };
    for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1)) {
      const within = pointer.slice(0, end + 1);
      for (const [at, { line }] of this.#cells) if (at.startsWith(within)) return { line };
    }
    return { line: this.line };
  }

  /** A message about the invalid value at a pointer, with how to write it. */
  advised(pointer: string, message: string): string {
    const advice = this.#cells?.get(pointer)?.advice;
    return advice === undefined ? message : `${message}: ${advice}`;
  }

  /** A message about the value at a pointer, in a CSV file with its line and column. */
  located(pointer: string, message: string): string {
    if (this.#cells === undefined) return message;
    const { line, column } = this.locate(pointer);
    return `LINE ${line}${column === undefined ? "" : `, column ${column}`}: ${message}`;
  }
}

/** A file that cannot be read as records: sending it again does not help. */
export class UnreadableFile extends OperatorError {}

/** A resource's word for one record. */
export function oneOf(resource: string): string {
  return resource === "inventories" ? "inventory" : resource.slice(0, -1);
}

/** "1 reservation", "2 inventories". */
export function recordsText(count: number, resource: string): string {
  return `${figure(count)} ${count === 1 ? oneOf(resource) : resource}`;
}
