import assert from "node:assert/strict";
import type { NightReconciliation } from "../../src/insight/one-night.ts";
import { accept, untilApplied } from "../support/read-fixture.ts";
import type { TestService } from "../support/service.ts";
import { type PlantedNight, plantedFeed } from "./planted-nights.ts";

/** How the findings of planted nights were judged. */
export interface Judgement {
  readonly nights: number;
  /** Nights with every planted cause among as many findings as there are causes, and among the first three. */
  readonly first: number;
  readonly firstThree: number;
  readonly failures: readonly string[];
}

const FIRST = 3;

/** Sends hotels with planted causes and asks for each night; `perNight`: causes of a night. */
export async function judgeFindings(
  service: TestService,
  seed: number,
  hotels: number,
  nights: number,
  perNight: 1 | 2,
): Promise<Judgement> {
  let [asked, first, firstThree] = [0, 0, 0];
  const failures: string[] = [];
  for (let hotel = 0; hotel < hotels; hotel += 1) {
    const propertyCode = `P${perNight}X${seed}X${hotel}`;
    const feed = plantedFeed(seed * 1_000 + hotel, nights, perNight);
    let newest = "";
    for (const { resource, records } of feed.batches) {
      if (records.length === 0) continue;
      const batch = records.map((record) => ({ ...record, clientCode: "ACME", propertyCode }));
      newest = await accept(service, resource, batch, { headers: { prefer: "handling=lenient" } });
    }
    // Batches of a property are applied in order of receipt.
    await untilApplied(service, newest);
    for (const night of feed.nights) {
      const query = new URLSearchParams({
        clientCode: "ACME",
        propertyCode,
        stayDate: night.stayDate,
        limit: "1",
      });
      const answer = await service.get(`/api/insight/v1/reconciliation/night?${query}`);
      assert.equal(answer.status, 200, answer.text);
      const { findings } = answer.json() as unknown as NightReconciliation;
      const places = night.causes.map((cause) =>
        findings.findIndex(
          ({ kind, records }) =>
            cause.kinds.includes(kind) && records.some(({ key }) => key === (cause.key ?? night.stayDate)),
        ),
      );
      const isWithin = (count: number) => places.every((place) => place >= 0 && place < count);
      asked += 1;
      if (isWithin(perNight)) first += 1;
      else failures.push(failureOf(night, places, findings));
      if (isWithin(FIRST)) firstThree += 1;
    }
  }
  return { nights: asked, first, firstThree, failures };
}

function failureOf(
  { stayDate, causes }: PlantedNight,
  places: readonly number[],
  findings: NightReconciliation["findings"],
): string {
  const planted = causes.map(
    ({ name, key }, at) => `${name} (${key ?? stayDate}) at ${(places[at] as number) + 1}`,
  );
  const found = findings
    .slice(0, 5)
    .map(
      ({ kind, roomType, rooms, nights, nightsExplained, records }) =>
        `${kind} ${roomType} ${rooms} ${nightsExplained}/${nights} ${records[0]?.key}`,
    );
  return `${stayDate}: ${planted.join("; ")}. Found: ${found.join(" | ")}`;
}
