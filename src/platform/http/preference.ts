/**
 * The value of one preference in the Prefer header (RFC 7240), in lower case; null where it is not asked for. Where it
 * stands more than once the first counts, and what is malformed is ignored, as the RFC says.
 */
export function preferenceOf(prefer: string | string[] | undefined, name: string): string | null {
  if (prefer === undefined) return null;
  const list = typeof prefer === "string" ? prefer : prefer.join(",");
  // The parts between commas that are not within quotes.
  const preferences = list.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
  const named = preferences.map((preference) => PREFERENCE.exec(preference));
  const [, , quoted, token] = named.find((found) => found?.[1]?.toLowerCase() === name) ?? [];
  return (quoted ?? token)?.toLowerCase() ?? null;
}

const PREFERENCE = /^\s*([\w-]+)\s*(?:=\s*(?:"([^"\\]*)"|([^\s;"]+))\s*)?(?:;|$)/;
