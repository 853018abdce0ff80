import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { HOTEL_KINDS } from "#simulator/hotel-profile.ts";
import { calibrationText, deriveCalibration } from "../data/real-bookings/derive-calibration.ts";
import { readRealBookings } from "../data/real-bookings/real-bookings.ts";
import {
  type Distances,
  distancesBetween,
  distributionsOf,
  realBookingsOf,
  simulatedBookings,
} from "./distributions.ts";

/** How far a simulated hotel of each kind may be from the real one (docs/simulator.md). */
const BOUNDS: Distances = {
  leadDays: 0.03,
  nights: 0.03,
  segments: 0.05,
  arrivals: 0.05,
  failing: 0.08,
  failingOfAll: 0.03,
  rates: 0.15,
};

test("the committed calibration equals that of the real bookings", async () => {
  const file = new URL("../../packages/simulator/src/calibration.json", import.meta.url);
  assert.equal(await readFile(file, "utf8"), calibrationText(deriveCalibration(readRealBookings())));
});

// Two years of two hotels are simulated: the least by which a year of arrivals, with its bookings and cancellations, is seen whole.
test("bookings of simulated hotels are distributed as the real ones are, within the bounds that the documentation states", () => {
  const simulated = simulatedBookings(2, 3);
  for (const kind of HOTEL_KINDS) {
    const real = distributionsOf(realBookingsOf(kind));
    const distances = distancesBetween(real, distributionsOf(simulated[kind]));
    for (const [name, bound] of Object.entries(BOUNDS) as [keyof Distances, number][])
      assert.ok(distances[name] <= bound, `${kind}: ${name} ${distances[name]} above ${bound}`);
  }
});
