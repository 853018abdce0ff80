export const RELEASE_KINDS = ["patch", "minor", "major"] as const;
export type ReleaseKind = (typeof RELEASE_KINDS)[number];

const UNRELEASED = "## Unreleased";

export function versionAfter(released: string, kind: ReleaseKind): string {
  const [major = 0, minor = 0, patch = 0] = released.split(".").map(Number);
  if (kind === "major") return `${major + 1}.0.0`;
  return kind === "minor" ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** Moves the Unreleased section of CHANGELOG.md to a version. Throws if the section is empty. */
export function withRelease(changelog: string, version: string, date: string): string {
  const [before = "", after] = changelog.split(`${UNRELEASED}\n`);
  if (after === undefined) throw new Error(`CHANGELOG.md has no "${UNRELEASED}".`);
  const [notes = ""] = after.split(/^## /m);
  if (notes.trim() === "") throw new Error(`CHANGELOG.md says nothing under "${UNRELEASED}".`);
  return `${before}${UNRELEASED}\n\n## ${version} (${date})\n${after}`;
}

/** Changes the package's version in package.json or package-lock.json. */
export function withVersion(packageJson: string, version: string): string {
  const { name, version: former } = JSON.parse(packageJson) as { name: string; version: string };
  // The lock file also states the version of the root package.
  return packageJson.replaceAll(
    new RegExp(`("name": "${name}",\\s+"version": )"${former.replaceAll(".", "\\.")}"`, "g"),
    `$1"${version}"`,
  );
}
