/** Normalises a text for comparison: no case or accents, single spaces. */
export function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").replaceAll(/\s+/g, " ").toLowerCase();
}
