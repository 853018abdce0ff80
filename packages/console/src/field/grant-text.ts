import type { Grant } from "../contract.ts";

/** `ACME/LON01`, `ACME/*` */
export function writeGrant({ clientCode, propertyCode }: Grant): string {
  return `${clientCode}/${propertyCode}`;
}

/** Grants as they are typed, one a line, and the lines that are none. */
export function readGrants(text: string): {
  readonly grants: readonly Grant[];
  readonly wrong: readonly string[];
} {
  const lines = text.split("\n").map((line) => line.trim());
  const grants: Grant[] = [];
  const wrong: string[] = [];
  for (const line of new Set(lines.filter((each) => each !== ""))) {
    const slash = line.indexOf("/");
    const clientCode = line.slice(0, slash).trim();
    const propertyCode = line.slice(slash + 1).trim();
    if (slash > 0 && clientCode !== "" && clientCode !== "*" && propertyCode !== "")
      grants.push({ clientCode, propertyCode });
    else wrong.push(line);
  }
  return { grants, wrong };
}
