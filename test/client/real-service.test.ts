import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BellhopClient, type BellhopError, type Change, type Reservation } from "#client";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let bellhop: BellhopClient;
before(async () => {
  service = await startTestService();
  bellhop = await newClient(service.client);
});
after(() => service.stop());

async function newClient(of: { clientId: string; clientSecret: string }): Promise<BellhopClient> {
  const { clientId, clientSecret } = of;
  const retry = { forMs: 30_000, firstDelayMs: 10, delayMsMax: 100 };
  return new BellhopClient({ baseUrl: service.address, clientId, clientSecret, retry });
}

function* reservations(property: string, count: number): Generator<Reservation> {
  for (let number = 0; number < count; number += 1)
    yield reservationRecord({ propertyCode: property, reservationId: `R-${number}` }) as Reservation;
}

const sorted = (indexes: readonly number[]) => indexes.toSorted((one, other) => one - other);

describe("the client and the service", () => {
  test("every record of a generator is sent, applied, and read back", async () => {
    const report = await bellhop.reservations.send(reservations("SEND", 1_200), {
      batchRecords: 100,
      waitForOutcomes: true,
    });
    assert.equal(report.records, 1_200);
    assert.equal(report.accepted, 1_200);
    assert.equal(report.batches, 12);
    assert.equal(new Set(report.requestIds).size, 12);
    assert.equal(report.outcomes?.applied, 1_200);
    assert.equal(report.outcomes?.pending, 0);
    const read = new Set<string>();
    const property = { clientCode: "ACME", propertyCode: "SEND" };
    for await (const { reservationId } of bellhop.reservations.list({ ...property, limit: 500 }))
      read.add(reservationId);
    assert.equal(read.size, 1_200);
  });

  test("the same records again are the same requests, and nothing is stored twice", async () => {
    const send = () =>
      bellhop.reservations.send(reservations("AGAIN", 60), { batchRecords: 20, waitForOutcomes: true });
    const first = await send();
    const again = await send();
    assert.deepEqual(again.requestIds.toSorted(), first.requestIds.toSorted());
    assert.deepEqual([first.replayedBatches, again.replayedBatches], [0, 3]);
    const [requestId = ""] = first.requestIds;
    const keys = await Array.fromAsync(
      bellhop.requests.outcomes(requestId, { outcome: "applied" }),
      ({ key }) => key,
    );
    assert.equal(new Set(keys).size, 20);
    assert.deepEqual(await Array.fromAsync(bellhop.requests.outcomes(requestId)), []);
    assert.equal(again.outcomes?.applied, 60);
    assert.equal(again.outcomes?.duplicate, 0);
    const versions: unknown[] = [];
    const of = { clientCode: "ACME", propertyCode: "AGAIN", reservationId: "R-1" };
    for await (const version of bellhop.reservations.history(of)) versions.push(version);
    assert.equal(versions.length, 1);
  });

  test("an invalid record is named with its violations, and the others are sent", async () => {
    const all = [...reservations("MEND", 30)];
    all[7] = reservationRecord({ propertyCode: "MEND", status: 7 }) as unknown as Reservation;
    all[21] = reservationRecord({
      propertyCode: "MEND",
      roomStays: [{ arrivalDate: "2026-02-30", departureDate: "2026-03-02", roomTypeCode: "DLX" }],
    }) as Reservation;
    const report = await bellhop.reservations.send(all, { batchRecords: 10 });
    assert.equal(report.accepted, 28);
    // Batches are sent beside each other: either may be answered first.
    const rejected = report.rejected.toSorted((left, right) => left.index - right.index);
    assert.deepEqual(
      rejected.map(({ index, code, violations: [first] }) => [index, code, first?.pointer]),
      [
        [7, "type", "/status"],
        [21, "format.date", "/roomStays/0/arrivalDate"],
      ],
    );
    assert.equal(rejected[0]?.record, all[7]);
  });

  test("a lenient send and a record from the future are reported with the caller's own records", async () => {
    const all = [...reservations("LENIENT", 5)];
    all[1] = { ...all[1], status: "" } as Reservation;
    all[3] = { ...all[3], lastModifiedDateTime: "2999-01-01T00:00:00Z" } as Reservation;
    const report = await bellhop.reservations.send(all, { lenient: true });
    assert.deepEqual([report.accepted, report.rejectedTotal], [4, 1]);
    assert.equal(report.outcomes?.applied, 3);
    const reported = [...report.rejected, ...report.quarantined];
    assert.deepEqual(
      reported.map(({ index, outcome, code, record }) => [index, outcome, code, record === all[index]]),
      [
        [1, "rejected", "length", true],
        [3, "quarantined", "time.future", true],
      ],
    );
  });

  test("records of a property that is not the client's are refused, and only these", async () => {
    const all = [...reservations("OWN", 20)].map((record, at) =>
      at % 4 === 0 ? { ...record, clientCode: "OTHER" } : record,
    );
    const report = await bellhop.reservations.send(all, { batchRecords: 10 });
    assert.equal(report.accepted, 15);
    assert.deepEqual(sorted(report.rejected.map(({ index }) => index)), [0, 4, 8, 12, 16]);
    for (const { code, message } of report.rejected) {
      assert.equal(code, "oauth.insufficient_scope");
      assert.match(
        message,
        /^The record names the property OTHER\/\w+, which is not granted to this client\.$/,
      );
    }
  });

  test("a client below its rate keeps to the pace of the service", async () => {
    const slow = await newClient(await service.newClient({ requestRate: 50, requestBurst: 10 }));
    const report = await slow.reservations.send(reservations("PACE", 40), {
      batchRecords: 1,
      concurrency: 8,
    });
    assert.equal(report.accepted, 40);
  });

  test("inventories and groups go the same way", async () => {
    const inventories = await bellhop.inventories.send([inventoryRecord() as never], {
      waitForOutcomes: true,
    });
    assert.equal(inventories.outcomes?.applied, 1);
    const groups = await bellhop.groups.send([groupRecord() as never], { waitForOutcomes: true });
    assert.equal(groups.outcomes?.applied, 1);
    const kinds: string[] = [];
    for await (const { resource } of bellhop.requests.list({ limit: 2 })) {
      kinds.push(resource);
      if (kinds.length === 3) break;
    }
    assert.deepEqual(kinds.slice(0, 2), ["groups", "inventories"]);
  });

  test("the change feed reports each change of a property once, in order, and resumes after any of them", async () => {
    const property = { clientCode: "ACME", propertyCode: "FEED" };
    const sent = [...reservations("FEED", 25)];
    const later = sent
      .slice(0, 5)
      .map((record) => ({ ...record, lastModifiedDateTime: "2026-03-02T10:00:00Z", status: "CANCELLED" }));
    for (const records of [sent, later]) await bellhop.reservations.send(records, { waitForOutcomes: true });
    const follow = async (cursor?: string) => {
      const reported: Change[] = [];
      for await (const change of bellhop.changes({ ...property, cursor, limit: 4, untilCaughtUp: true }))
        reported.push(change);
      return reported;
    };
    const all = await follow();
    assert.equal(all.length, 30);
    assert.equal(new Set(all.map(({ requestId, index }) => `${requestId} ${index}`)).size, 30);
    assert.deepEqual(
      all.slice(0, 25).map(({ record }) => record),
      sent,
    );
    assert.ok(all.slice(25).every(({ change }) => change === "updated"));
    // No cursor is written twice.
    const reported = (changes: readonly Change[]) => changes.map(({ cursor: _, ...change }) => change);
    for (const at of [0, 3, 17, 29])
      assert.deepEqual(reported(await follow(all[at]?.cursor)), reported(all.slice(at + 1)));
  });

  test("an error of the service is a BellhopError with its code, status and request id", async () => {
    const unknown = bellhop.requests.get("01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11");
    await assert.rejects(unknown, (error: BellhopError) => {
      assert.equal(error.name, "BellhopError");
      assert.equal(error.exception, "bellhop.read.RequestNotFound");
      assert.equal(error.status, 404);
      assert.match(error.requestId ?? "", /./);
      return true;
    });
  });

  test("fetch returns the response unchanged", async () => {
    const response = await bellhop.fetch("/api/public/v1/reservations", { method: "POST", body: "[]" });
    assert.equal(response.status, 415);
    await response.body?.cancel();
  });
});
