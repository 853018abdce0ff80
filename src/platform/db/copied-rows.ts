// PostgreSQL's manual, COPY, "Binary Format": a signature, flags, the length of an extension; rows; a count of -1.
const EXTENSION_LENGTH_AT = 15;
const HEADER_BYTES = 19;
const END = -1;

/** The rows of a whole binary COPY, each with its values in the order of the columns. For tables of a few rows. */
export function readCopiedRows(bytes: Buffer): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = HEADER_BYTES + bytes.readInt32BE(EXTENSION_LENGTH_AT);
  const value = (): Buffer | null => {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return bytes.subarray(at - length, at);
  };
  for (let count = bytes.readInt16BE(at); count !== END; count = bytes.readInt16BE(at)) {
    at += 2;
    rows.push(Array.from({ length: count }, value));
  }
  return rows;
}
