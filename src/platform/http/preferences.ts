/** Whether the Accept header prefers `type` to JSON (RFC 9110, section 12.5.1). */
export function prefersText(accept: string | undefined, type: "text/plain" | "text/csv"): boolean {
  if (accept === undefined || accept === "*/*" || accept === "application/json") return false;
  const weights = new Map<string, number>();
  for (const part of accept.split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(range, Number.isFinite(q) ? q : 0);
  }
  const weightOf = (exact: string, family: string) =>
    weights.get(exact) ?? weights.get(family) ?? weights.get("*/*") ?? 0;
  return weightOf(type, "text/*") > weightOf("application/json", "application/*");
}

/** The first value of a preference in the Prefer header (RFC 7240), in lower case; null if absent. Malformed preferences are ignored. */
export function preferenceOf(prefer: string | string[] | undefined, name: string): string | null {
  if (prefer === undefined) return null;
  const list = typeof prefer === "string" ? prefer : prefer.join(",");
  // Splits at commas outside quotes.
  const preferences = list.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
  const named = preferences.map((preference) => PREFERENCE.exec(preference));
  const [, , quoted, token] = named.find((found) => found?.[1]?.toLowerCase() === name) ?? [];
  return (quoted ?? token)?.toLowerCase() ?? null;
}

const PREFERENCE = /^\s*([\w-]+)\s*(?:=\s*(?:"([^"\\]*)"|([^\s;"]+))\s*)?(?:;|$)/;
