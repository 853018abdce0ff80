import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const sent = now();
const reservation = (reservationId, changes = {}) => ({
  clientCode: "DEMO",
  propertyCode: PROPERTY,
  reservationId,
  status: "CONFIRMED",
  lastModifiedDateTime: sent,
  roomStays: [{ arrivalDate: "2028-01-10", departureDate: "2028-01-12", roomTypeCode: "DLX" }],
  ...changes,
});
await bellhop.reservations.send([reservation("R-5001")], { waitForOutcomes: true });

// A batch with one record of each kind. Lenient: Bellhop accepts the valid records and reports each invalid one.
const noDate = [{ arrivalDate: "2028-01-32", departureDate: "2028-01-12", roomTypeCode: "DLX" }];
const batch = [
  reservation("R-5001"),
  reservation("R-5001", { status: "RESERVED", lastModifiedDateTime: "2020-01-01T00:00:00Z" }),
  reservation("R-5002", { status: "WALK-IN" }),
  reservation("R-5003", { roomStays: noDate }),
  reservation("R-5004", { lastModifiedDateTime: "2099-01-01T00:00:00Z" }),
];
const report = await bellhop.reservations.send(batch, { lenient: true });
for (const [outcome, count] of Object.entries(report.outcomes ?? {}))
  if (count > 0) console.log(outcome, count);

// Records applied without a warning are only counted; the others are listed, each with its index in the batch.
for (const requestId of report.requestIds) {
  const { records } = await bellhop.requests.get(requestId);
  for (const { index, key, outcome, code, warnings } of records)
    console.log(index, key, outcome, code ?? "", ...warnings.map((warning) => warning.code));
}
