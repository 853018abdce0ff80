import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import {
  DISCREPANCIES,
  type Discrepancy,
  FIRST_NIGHT,
  LAST_NIGHT,
  type PlantedHotel,
  plantedHotel,
} from "./planted-discrepancies.ts";

const NIGHT_PATH = "reconciliation/night";

/** What the service calls each of them, and whether it can be distinguished from every other cause by what there is. */
const FOUND_AS: Readonly<Record<Discrepancy, { readonly kind: string; readonly isFirst: boolean }>> = {
  // A count too many that no record explains is either.
  "missing reservation": { kind: "missing-reservation", isFirst: true },
  "wrong sold count": { kind: "wrong-sold-count", isFirst: false },
  "share counted twice": { kind: "share-counted-twice", isFirst: true },
  "cancelled but still sold": { kind: "cancelled-but-sold", isFirst: true },
  "unpicked block": { kind: "unpicked-block-counted", isFirst: true },
};

interface ReconciledItem {
  readonly stayDate: string;
  readonly roomType: string;
  readonly difference: number;
}

interface FoundItem {
  readonly kind: string;
  readonly roomType: string;
  readonly rooms: number;
  readonly records: readonly {
    readonly resource: string;
    readonly key: string;
    readonly requestId: string;
  }[];
}

/** Pushes a hotel's records and waits until they are applied; answers the requests' ids. */
async function pushHotel(service: TestService, hotel: PlantedHotel, propertyCode: string): Promise<string[]> {
  const requests: string[] = [];
  const { reservations, groups, inventories } = hotel;
  for (const [resource, records] of Object.entries({ reservations, groups, inventories })) {
    const answer = await service.post(
      resource,
      JSON.stringify(records.map((record) => ({ ...record, propertyCode }))),
    );
    assert.equal(answer.status, 202, answer.text);
    requests.push(String(answer.json()["requestId"]));
  }
  for (const requestId of requests) {
    const answer = await service.get(`/api/public/v1/requests/${requestId}`, {
      headers: { prefer: "wait=10" },
    });
    assert.equal(answer.json()["status"], "applied", answer.text);
  }
  return requests;
}

test("each planted discrepancy is found by reconciliation, with its nights and its records, and nothing else is", async () => {
  const service = await startTestService();
  try {
    const ask = async (path: string, propertyCode: string, more: Readonly<Record<string, string>>) => {
      const query = new URLSearchParams({ clientCode: "ACME", propertyCode, ...more });
      const answer = await service.get(`/api/insight/v1/${path}?${query}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.json();
    };
    for (const [number, discrepancy] of [undefined, ...DISCREPANCIES].entries()) {
      const hotel = plantedHotel(discrepancy);
      const propertyCode = `PLANTED${number}`;
      const requests = await pushHotel(service, hotel, propertyCode);
      const range = { from: FIRST_NIGHT, to: LAST_NIGHT, by: "roomType", limit: "100" };
      const { items } = await ask("reconciliation", propertyCode, range);
      const different = (items as ReconciledItem[]).filter(({ difference }) => difference !== 0);
      const { nights = [], roomType, difference, culprits = [] } = hotel.planted ?? {};
      assert.deepEqual(
        different.map((item) => [item.stayDate, item.roomType, item.difference]),
        nights.map((night) => [night, roomType, difference]),
        discrepancy,
      );
      for (const stayDate of discrepancy === undefined ? [] : nights) {
        const { findings } = await ask(NIGHT_PATH, propertyCode, { stayDate });
        const found = findings as FoundItem[];
        const { kind, isFirst } = FOUND_AS[discrepancy as Discrepancy];
        const about = `${discrepancy} on ${stayDate}: ${JSON.stringify(found)}`;
        const finding = found.find((one) => one.kind === kind && one.roomType === roomType);
        assert.ok(finding !== undefined && (!isFirst || found[0] === finding), about);
        assert.equal(finding.rooms, difference, about);
        const keys = culprits.filter(({ resource, key }) => resource !== "inventories" || key === stayDate);
        assert.deepEqual(
          finding.records.map(({ resource, key }) => `${resource} ${key}`).sort(),
          keys.map(({ resource, key }) => `${resource} ${key}`).sort(),
          about,
        );
        assert.ok(
          finding.records.every(({ requestId }) => requests.includes(requestId)),
          about,
        );
      }
    }
  } finally {
    await service.stop();
  }
});
