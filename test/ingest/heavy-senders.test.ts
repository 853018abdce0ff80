import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { openStateClients, readNext } from "../support/state-clients.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:00Z";
const dayOf = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);

/** A reservation whose nights have one amount each, so that each is an entry of the night ledger. */
function long(id: string, propertyCode: string, nights: number) {
  const stays = Math.ceil(nights / 1_000);
  const roomStays = Array.from({ length: stays }, (_, at) => ({
    arrivalDate: dayOf(1_000 * at),
    departureDate: dayOf(Math.min(nights, 1_000 * (at + 1))),
    roomTypeCode: "DLX",
  }));
  const daily = Array.from({ length: nights }, (_, at) => ({ occupancyDate: dayOf(at), netRoomRevenue: at }));
  return reservation(id, T1, { propertyCode, roomStays, stayRevenue: { daily } });
}

function pushed(service: TestService, id: string, nights: number): Promise<string> {
  return accept(service, "reservations", [long(id, "HEAVY", nights)]);
}

test("batches of a client that sends very many values a record yield, and take turns with those of others", async () => {
  const service = await startTestService({ roles: ["accept", "read"] });
  const clients = await openStateClients(service.database);
  try {
    const usual = await pushed(service, "R0", 1);
    const heavy = await accept(
      service,
      "reservations",
      Array.from({ length: 6 }, (_, at) => long(`R${at + 1}`, "HEAVY", 10_000)),
    );
    await service.pool.query(
      "update bellhop.accept_log set received_at = received_at - interval '11 seconds' where request_id = $1",
      [heavy],
    );
    const { parts } = (await readNext(clients, 1_000)) ?? assert.fail();
    assert.deepEqual(
      parts.map(({ requestId, yields = false }) => ({ requestId, yields })),
      [
        { requestId: usual, yields: false },
        { requestId: heavy, yields: true },
      ],
    );
  } finally {
    for (const client of clients) await client.end();
    await service.stop();
  }
});

test("so do batches of a client whose records took appliers very long", async () => {
  const service = await startTestService();
  try {
    const isYielding = async (requestId: string) => {
      const { rows } = await service.pool.query<{ yields: boolean }>(
        `select writer.yields from bellhop.accept_log as log join bellhop.log_writer as writer using (log_writer_id)
        where log.request_id = $1`,
        [requestId],
      );
      return rows[0]?.yields;
    };
    const versionAt = (second: number) => {
      const time = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
      return reservation("LATE", time, { propertyCode: "HEAVY", channel: `C${second}` });
    };
    const applied = async (records: readonly object[]) => {
      const requestId = await accept(service, "reservations", records);
      await until(async () => {
        const answer = await service.get(`/api/public/v1/requests/${requestId}`);
        return answer.json()["status"] === "applied";
      }, 120_000);
      return requestId;
    };
    await applied([versionAt(5_000)]);
    // Each is out of order.
    const late = await applied(Array.from({ length: 1_900 }, (_, at) => versionAt(at)));
    assert.equal(await isYielding(late), false);
    assert.equal(await isYielding(await pushed(service, "R1", 1)), true);
    const other = await service.newClient({ grants: [{ clientCode: "NEIGHBOUR", propertyCode: "*" }] });
    const answer = await service.post("reservations", [{ ...long("N1", "N", 1), clientCode: "NEIGHBOUR" }], {
      as: other,
    });
    assert.equal(await isYielding(String(answer.json()["requestId"])), false);
  } finally {
    await service.stop();
  }
});
