import manifest from "../../../package.json" with { type: "json" };

/** The version of this code: `1.1.0`, or `1.1.0-dev` on the way to it. */
export const CODE_VERSION: string = manifest.version;

/** Whether a version is at least another, ignoring the suffix after a hyphen: a pre-release counts as its release. */
export function isAtLeast(version: string, least: string): boolean {
  return version.replace(/-.*/, "").localeCompare(least.replace(/-.*/, ""), "en", { numeric: true }) >= 0;
}
