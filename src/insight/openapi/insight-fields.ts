import type { Schema } from "../../platform/http/openapi/model.ts";

/** Text without NUL, which no record can have. */
export const TEXT_PATTERN = "^[^\\u0000]*$";
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

/** A count, which may be negative: of a change, say. */
export function count(description: string, example: number): Schema {
  return {
    type: "integer",
    format: "int64",
    minimum: -NUMBER_MAX,
    maximum: NUMBER_MAX,
    description,
    examples: [example],
  };
}

export function countOrNull(description: string, example: number): Schema {
  return { ...count(description, example), type: ["integer", "null"] };
}

/** Exact decimal text; the format tells it from text that is somebody's own, which matters in a spreadsheet. */
export function decimalOrNull(description: string, example: string): Schema {
  return {
    type: ["string", "null"],
    format: "decimal",
    maxLength: 160,
    pattern: "^-?[0-9]+(\\.[0-9]+)?$",
    description,
    examples: [example],
  };
}

/** A code or label as it was sent. */
export function codeOrNull(description: string, example: string): Schema {
  return {
    type: ["string", "null"],
    maxLength: 256,
    pattern: TEXT_PATTERN,
    description,
    examples: [example],
  };
}

/** The night that an item is of. */
export const stayDate: Schema = {
  type: "string",
  format: "date",
  minLength: 10,
  maxLength: 10,
  description: "The night.",
  examples: ["2026-07-14"],
};
