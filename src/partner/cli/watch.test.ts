import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordOutcome, RequestStatus } from "#client";
import { statusLines } from "./watch.ts";

const record = (index: number, outcome: string, warnings: RecordOutcome["warnings"] = []): RecordOutcome => ({
  ...{ index, outcome, warnings, clientCode: "C", propertyCode: "P", key: `R-${index}` },
  ...{ pointer: `/${index}`, code: outcome === "applied" ? null : "time.future", message: null },
});
const STATUS = {
  requestId: "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11",
  status: "applied",
  resource: "reservations",
  counts: { records: 4, applied: 3, quarantined: 1, warned: 1 },
  records: [
    record(1, "applied", [
      { pointer: "/1/shareID", code: "field.similar", message: "Did you mean shareId?" },
    ]),
    record(3, "quarantined"),
  ],
} as unknown as RequestStatus;

test("a request is printed with its warnings, as by send, and the records that were not applied", () => {
  const lines = statusLines(STATUS, false);
  assert.match(
    lines.join("\n"),
    /\nRECORD +POINTER +WARNING +REASON\n1 +\/shareID +field\.similar +Did you mean/,
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith("/")).map((line) => line.split(/ +/).slice(0, 2)),
    [["/3", "quarantined"]],
  );
});

test("with --all every record has a line", () => {
  const records = [record(0, "applied"), STATUS.records[0], record(2, "applied"), STATUS.records[1]];
  const whole = { ...STATUS, records } as RequestStatus;
  const listed = statusLines(whole, true).filter((line) => line.startsWith("/"));
  assert.deepEqual(
    listed.map((line) => line.split(/ +/).slice(0, 3)),
    [
      ["/0", "applied", "R-0"],
      ["/1", "applied", "R-1"],
      ["/2", "applied", "R-2"],
      ["/3", "quarantined", "R-3"],
    ],
  );
});

test("one record is not many", () => {
  const one = { ...STATUS, counts: { ...STATUS.counts, records: 1 } };
  assert.match(statusLines(one, false).join("\n"), /records +1 reservation\n/);
});
