/**
 * `npm run check -- migrations`: released migrations are unchanged, and later ones permit two versions to run side by side
 * (docs/internal/releases.md).
 */

import { CODE_VERSION, isAtLeast } from "../src/platform/db/code-version.ts";
import { readMigrations } from "../src/platform/db/migrate.ts";
import type { Migration } from "../src/platform/db/migration-records.ts";
import { expandViolations } from "./migrations/expand-rules.ts";
import { type Release, readReleases } from "./release/releases.ts";

function editedSince({ version, migrations }: Release, ours: readonly Migration[]): string[] {
  const now = new Map(ours.map(({ name, checksum }) => [name, checksum]));
  return Object.entries(migrations)
    .filter(([name, checksum]) => now.get(name) !== checksum)
    .map(([name]) => `${name}: it is not the file that version ${version} was released with`);
}

/** A contract migration may remove only what a released version no longer uses, because upgrades start from that version. */
function wronglyContracted({ name, oldest }: Migration, releases: readonly Release[]): string[] {
  if (oldest === null) return [];
  if (!releases.some(({ version }) => version === oldest))
    return [`${name}: version ${oldest} is not released, so there is nobody yet who does without it`];
  return isAtLeast(oldest, CODE_VERSION)
    ? [`${name}: what version ${oldest} stopped using can be taken away by a later one at the earliest`]
    : [];
}

const migrations = await readMigrations();
const releases = await readReleases();
const problems = [
  ...releases.flatMap((release) => editedSince(release, migrations)),
  ...migrations
    .filter(({ oldest }) => oldest === null)
    .flatMap(({ name, sql }) => expandViolations(sql).map((violation) => `${name}: ${violation}`)),
  ...migrations.flatMap((migration) => wronglyContracted(migration, releases)),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`\nSee docs/internal/releases.md, "Writing migrations".`);
  process.exitCode = 1;
}
