/** The length of a body by its headers: a number, chunked, none, or ambiguous. */
export type Framing = number | "chunked" | "none" | "refused";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Reads a request's framing by RFC 9112 section 6.3, refusing everything that the RFC leaves to leniency: codings
 * besides chunked, several lengths, both, non-digits. Independent of the parser under test.
 */
export function framingOf(lines: readonly string[]): Framing {
  const fields: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    if (!TOKEN.test(name) || /[\x00-\x08\x0a-\x1f\x7f]/.test(line.slice(colon + 1))) return "refused";
    fields.push([name.toLowerCase(), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "")]);
  }
  const lengths = fields.filter(([name]) => name === "content-length").map(([, value]) => value);
  const codings = fields.filter(([name]) => name === "transfer-encoding").map(([, value]) => value);
  if (codings.length > 0) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === "chunked";
    return isChunked && lengths.length === 0 ? "chunked" : "refused";
  }
  if (lengths.length === 0) return "none";
  const [length = ""] = lengths;
  return lengths.length === 1 && /^\d{1,15}$/.test(length) ? Number(length) : "refused";
}
