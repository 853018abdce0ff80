import { sizeText } from "../../../cli/amounts.ts";
import { freeDiskBytes } from "../../../platform/db/open-database.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** Below so many times the floor somebody should make room while nothing has happened yet. */
const FLOORS_TO_WARN_AT = 8;

/** The disk of the embedded database; that of another server cannot be seen from here. */
export const disk: Check<DatabaseSubject> = {
  name: "disk",
  async run({ config, database: { dataDirectory } }) {
    const id = "disk.free";
    if (dataDirectory === undefined)
      return [fine(id, "The database's disk is that of another server: its monitoring has to watch it.")];
    const free = await freeDiskBytes(dataDirectory);
    const floor = config.minFreeDiskBytes;
    const says = `${sizeText(free)} are free under ${dataDirectory}`;
    const advice = "Make room outside of that directory: nothing in it is to spare. See docs/operations.md.";
    if (free < floor)
      return [
        trouble("fail", id, {
          says: `${says}, below MIN_FREE_DISK_MIB (${sizeText(floor)}).`,
          means: "Batches are answered 503; below half of it nothing is applied either.",
          advice,
        }),
      ];
    if (free < FLOORS_TO_WARN_AT * floor)
      return [
        trouble("warn", id, {
          says: `${says}; at ${sizeText(floor)} batches are refused.`,
          means: "The log and the state grow with what is sent.",
          advice,
        }),
      ];
    return [fine(id, `${says}.`)];
  },
};
