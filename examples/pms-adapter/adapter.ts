/**
 * A small adapter from a property management system to Bellhop: sends the nightly inventory and changed reservations,
 * and prints their outcomes. Run it as often as you like; see README.md.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BellhopClient, type SendReport } from "@bellhop/client";
import { type Hotel, readHotel } from "./hotel-store.ts";
import { SentState } from "./sent-state.ts";
import { daysAfter, inventoryOf, reservationOf } from "./to-records.ts";

const { values } = parseArgs({
  allowPositionals: true,
  options: { hotel: { type: "string", default: join(import.meta.dirname, "hotel") } },
});
const { BASE_URL = "http://127.0.0.1:8080", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
const bellhop = new BellhopClient({ baseUrl: BASE_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET });
const hotel = await readHotel(values.hotel);

report("reservations", await sendReservations(hotel));
report("inventory", await sendInventory(hotel));

/** Sends every booking that has changed since it was last accepted. */
async function sendReservations(of: Hotel): Promise<SendReport> {
  // Each service has its own state: a new one has received nothing.
  const state = await SentState.open(
    join(values.hotel, `sent-${BASE_URL.replace(/[^A-Za-z0-9]/g, "_")}.json`),
  );
  const changed = of.bookings
    .map((booking) => reservationOf(of, booking))
    .filter((record) => !state.has(record.reservationId, record));
  // Rejected records are not stored as sent, so each run sends and reports them again until they are fixed.
  const refused = new Set<number>();
  const report = await bellhop.reservations.send(changed, {
    waitForOutcomes: true,
    onRefused: ({ index, outcome }) => {
      if (outcome === "rejected") refused.add(index);
    },
  });
  changed.forEach((record, index) => {
    if (!refused.has(index)) state.note(record.reservationId, record);
  });
  await state.save();
  return report;
}

/** Sends every bookable night. Most are unchanged and cost little. */
function sendInventory(of: Hotel): Promise<SendReport> {
  const now = new Date().toISOString();
  const nights = Array.from({ length: of.nights }, (_, day) =>
    inventoryOf(of, daysAfter(of.businessDate, day), now),
  );
  return bellhop.inventories.send(nights, { waitForOutcomes: true });
}

/** Prints one summary line, and one line for each record that needs attention. */
function report(what: string, { records, outcomes, rejected, quarantined }: SendReport): void {
  const counts = Object.entries(outcomes ?? {}).flatMap(([name, count]) =>
    count > 0 ? [`${count} ${name}`] : [],
  );
  console.log(`${what}: ${[`${records} sent`, ...counts].join(", ")}`);
  for (const { index, outcome, code, message } of [...rejected, ...quarantined])
    console.error(`${what}: record ${index} ${outcome} (${code}): ${message}`);
  if (rejected.length + quarantined.length > 0) process.exitCode = 1;
}
