import { writeFile } from "node:fs/promises";
import { HOTEL_KINDS, type HotelKind } from "#simulator/hotel-profile.ts";
import {
  distancesBetween,
  distributionsOf,
  realBookingsOf,
  simulatedBookings,
} from "../test/simulated-hotels/distributions.ts";
import { type Compared, plotOf } from "../test/simulated-hotels/plot-distributions.ts";

/** Draws the simulator's distributions beside the real ones into `docs/simulator/distributions.svg`, and prints their distances. */
const FILE = new URL("../docs/simulator/distributions.svg", import.meta.url);
const HOTELS = 6;
const SEED = 1;

const simulated = simulatedBookings(HOTELS, SEED);
const compared = Object.fromEntries(
  HOTEL_KINDS.map((kind) => [
    kind,
    { real: distributionsOf(realBookingsOf(kind)), simulated: distributionsOf(simulated[kind]) },
  ]),
) as Record<HotelKind, Compared>;
await writeFile(FILE, plotOf(compared, `${HOTELS} hotels of seed ${SEED}, arrivals of a year`));
for (const kind of HOTEL_KINDS) {
  const { real, simulated: made } = compared[kind];
  const apart = Object.entries(distancesBetween(real, made)) as [string, number][];
  const figures = apart.map(([name, distance]) => `${name} ${distance.toFixed(3)}`);
  console.log(`${kind}: ${real.bookings} real, ${made.bookings} simulated; ${figures.join(", ")}`);
}
