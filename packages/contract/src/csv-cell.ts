const TO_QUOTE = /[",\r\n]/;

/** A text in quotation marks (RFC 4180, section 2). */
export const quotedCell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** A text as a cell of a file with commas: in quotation marks only if it needs them. */
export const csvCell = (text: string): string => (TO_QUOTE.test(text) ? quotedCell(text) : text);
