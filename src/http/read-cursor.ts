import { createHash } from "node:crypto";
import { hasShape, type Position, type PositionShape } from "../read/position.ts";
import { invalidParameter } from "./read-parameters.ts";

const CURSOR_CHARACTERS_MAX = 2_048;

/** The question that a cursor goes on with: whose, at which address, with which filters. */
export interface Question {
  readonly clientId: string;
  readonly path: string;
  readonly filters: string;
}

/** Enough of a hash to notice a cursor of another question; a cursor grants nothing, so it need not be secret. */
function bindingOf({ clientId, path, filters }: Question): string {
  return createHash("sha256")
    .update(JSON.stringify([clientId, path, filters]))
    .digest("base64url")
    .slice(0, 16);
}

/** Writes a position as an opaque text: base64url of JSON. */
export function writeCursor(question: Question, position: Position): string {
  return Buffer.from(JSON.stringify([bindingOf(question), ...position])).toString("base64url");
}

function parse(cursor: string): unknown {
  try {
    const bytes = Buffer.from(cursor, "base64url");
    // Bits that no byte needs are dropped in decoding: two texts for one cursor would not be opaque.
    return bytes.toString("base64url") === cursor ? JSON.parse(bytes.toString("utf8")) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a cursor back; null when there is none. Throws ServiceError `bellhop.http.InvalidParameter` for one that is not
 * ours, is of another question, or does not have the shape of this list's positions.
 */
export function readCursor(
  question: Question,
  cursor: string | undefined,
  shape: PositionShape,
): Position | null {
  if (cursor === undefined) return null;
  const wellFormed = cursor.length <= CURSOR_CHARACTERS_MAX && /^[A-Za-z0-9_-]+$/.test(cursor);
  const parts = wellFormed ? parse(cursor) : undefined;
  if (Array.isArray(parts)) {
    const [binding, ...position] = parts as unknown[];
    const isPosition = position.every((part) => typeof part === "string" || typeof part === "number");
    if (binding === bindingOf(question) && isPosition && hasShape(position as Position, shape))
      return position as Position;
  }
  throw invalidParameter("cursor takes the nextCursor of an answer to this same query.");
}
