import { hasShape, type Position, type PositionShape } from "../platform/http/position.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import type { HttpContext } from "../service-context.ts";
import { type Question, SealedCursors } from "./sealed-cursor.ts";

const CURSOR_CHARACTERS_MAX = 2_048;
/** Positions are sealed in whole steps of so many bytes: what is in one does not show in its length. */
const STEP_BYTES = 64;
const BLANK = " ";

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The cursors of one list's pages: positions as JSON, sealed for their question. */
export class PageCursors {
  readonly #sealed: SealedCursors;

  constructor({ cursorKey }: Pick<HttpContext, "cursorKey">, question: Question) {
    this.#sealed = new SealedCursors(cursorKey, question);
  }

  /** The cursor of the page that begins behind a position; null where there is none. */
  write(next: Position | null): string | null {
    if (next === null) return null;
    const text = Buffer.from(JSON.stringify(next));
    const padding = STEP_BYTES - (text.length % STEP_BYTES);
    return this.#sealed.seal(Buffer.concat([text, Buffer.alloc(padding, BLANK)]));
  }

  /**
   * Reads a cursor back; null when there is none. Throws ServiceError `bellhop.http.InvalidParameter` for one that is not ours,
   * is of another question, or does not have the shape of this list's positions.
   */
  read(cursor: string | undefined, shape: PositionShape): Position | null {
    if (cursor === undefined) return null;
    const bytes = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : this.#sealed.open(cursor);
    const position = bytes === undefined ? undefined : parse(bytes);
    if (Array.isArray(position) && hasShape(position as Position, shape)) return position as Position;
    throw invalidParameter("cursor takes the nextCursor of an answer to this same query.");
  }
}
