import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** The version of this code, as package.json has it: `1.1.0`, or `1.1.0-dev` on the way to it. */
export const CODE_VERSION = version;

/**
 * Whether a version is another one or newer. What follows a hyphen does not count: what is on the way to a release can do
 * what that will be able to do.
 */
export function isAtLeast(version: string, least: string): boolean {
  const numbers = (text: string) => text.split("-", 1)[0]?.split(".").map(Number) ?? [];
  const [ours, theirs] = [numbers(version), numbers(least)];
  for (let at = 0; at < 3; at += 1) {
    const difference = (ours[at] ?? 0) - (theirs[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
