import { bellhop } from "./command.ts";
import type { TestDatabase } from "./database.ts";
import { type LooseRecord, reservationRecord } from "./records.ts";

/** Runs `bellhop erasure …` and answers what it said. */
export function run({ url }: TestDatabase, ...args: string[]) {
  return runWith({ DATABASE_URL: url }, ...args);
}

/** The same with more settings. */
export function runWith(environment: NodeJS.ProcessEnv, ...args: string[]) {
  return bellhop(["erasure", ...args], environment);
}

/** Who asks to be forgotten, however she was spelled. */
export const WORDS = [
  "Ottilie",
  "Grünwald",
  "ottilie@example.com",
  "P-OTTI",
  "CNF-OTTI",
  "4711-Suite",
  "Grunwaldt",
];

export function ottilie(lastModifiedDateTime: string, changes: LooseRecord = {}): LooseRecord {
  return reservationRecord({
    lastModifiedDateTime,
    reservationId: "R-7001",
    correlationId: "for Ottilie",
    confirmationNumber: "CNF-OTTI",
    cancellationReason: "Ottilie is ill",
    nationality: "AT",
    guestContact: { email: "ottilie@example.com" },
    roomStays: [
      {
        arrivalDate: "2026-03-10",
        departureDate: "2026-03-13",
        roomTypeCode: "DLX",
        roomNumber: "4711-Suite",
        services: [{ serviceName: "Cake for Ottilie", serviceValue: 12.5 }],
      },
    ],
    profiles: [
      { id: "P-OTTI", name: "Ottilie Grünwald", profileType: "GUEST", context: "Frau Grünwald" },
      { id: "P-FIRM", name: "Example Travel", profileType: "COMPANY" },
    ],
    stayRevenue: { daily: [{ occupancyDate: "2026-03-10", netRoomRevenue: "180.00" }] },
    ...changes,
  });
}

export const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, "0")}:00:00Z`;
