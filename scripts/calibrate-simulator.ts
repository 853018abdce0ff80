import { readFile, writeFile } from "node:fs/promises";
import { calibrationText, deriveCalibration } from "../test/data/real-bookings/derive-calibration.ts";
import { readRealBookings } from "../test/data/real-bookings/real-bookings.ts";

/**
 * Derives the simulator's calibration from real bookings and writes `packages/simulator/src/calibration.json`. With
 * `--check` it compares instead.
 */
const FILE = new URL("../packages/simulator/src/calibration.json", import.meta.url);

const text = calibrationText(deriveCalibration(readRealBookings()));
if (!process.argv.includes("--check")) await writeFile(FILE, text);
else if ((await readFile(FILE, "utf8")) !== text) {
  console.error(
    "packages/simulator/src/calibration.json is not what the real bookings come to: npm run generate -- calibration",
  );
  process.exitCode = 1;
}
