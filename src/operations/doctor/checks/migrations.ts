import { countText } from "../../../cli/amounts.ts";
import { readMigrations } from "../../../platform/db/migration-files.ts";
import { findRecords } from "../../../platform/db/migration-records.ts";
import { readUnfinished } from "../../../platform/db/unfinished.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** Whether the database is where this version of the code expects it to be. */
export const migrations: Check<DatabaseSubject> = {
  name: "migrations",
  async run({ database: { pool } }) {
    const id = "database.migrations";
    const unfinished = await readUnfinished(pool);
    if (unfinished !== undefined)
      return [
        trouble("fail", "database.unfinished", {
          says: unfinished.note,
          means: "No service and no other command starts on this database.",
          advice:
            "Do what the line says; where it was moved, give this command the DATABASE_URL of the new one.",
        }),
      ];
    const known = await readMigrations();
    const records = await findRecords(pool);
    const names = new Set(records.map(({ name }) => name));
    const newer = records.filter(({ name }) => !known.some((ours) => ours.name === name));
    const missing = known.filter(({ name }) => !names.has(name));
    if (newer.length > 0)
      return [
        trouble("warn", id, {
          says: `The database has ${countText(newer.length, "migration")} that this version does not know, ${newer[0]?.name ?? ""} the first.`,
          means: "A newer version has been started on it. What follows may be incomplete.",
          advice: "Use the newer version; docs/upgrades.md says what an upgrade and a way back take.",
        }),
      ];
    if (missing.length > 0)
      return [
        trouble("warn", id, {
          says: `The database has not had ${countText(missing.length, "migration")} of this version, ${missing[0]?.name ?? ""} the first.`,
          means: "This version has not been started on it yet: what needs its tables is not looked at.",
          advice: "Start the service: it migrates by itself.",
        }),
      ];
    return [fine(id, `The database has the ${known.length} migrations of this version.`)];
  },
};
