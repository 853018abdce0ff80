/**
 * How far a reader of the change feed has come: of each bucket that it looks at the number of the last change that it was
 * told of or that is none of its. A bucket that is not in it is read from the beginning.
 */
export type Positions = ReadonlyMap<number, number>;

/** Of a reader that has read nothing yet. */
export const BEGINNING: Positions = new Map();
