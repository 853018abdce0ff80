import assert from "node:assert/strict";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { dayOf } from "../workload/calendar-day.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import type { ModelBlock, ModelRun, ModelVersion } from "./insight-model.ts";
import type { Answer, RequestOptions, TestService } from "./service.ts";

export const FIRST_NIGHT = dayOf("2026-06-01");
export const DAYS = 40;
/** Statuses of the model: two that deduct, two that are off the books, one that nobody has mapped. */
const STATUSES = ["CONFIRMED", "CONFIRMED", "In House", "CANCELLED", "NO SHOW", "WALK IN"];

/** A whole number from 0 to below a count. */
export function below(random: SeededRandom, count: number): number {
  return random.between(0, count - 1);
}

export interface InsightPageText {
  readonly items: readonly Record<string, unknown>[];
  readonly nextCursor: string | null;
  readonly clock: string;
  readonly asOf: string | null;
  readonly watermark: string | null;
  readonly settingsVersion: number;
}

/** Makes a property of ACME known, as the first batch that names it would. */
export async function addProperty(service: TestService, propertyCode: string) {
  const bucket = bucketOf("ACME", propertyCode);
  const { rows } = await service.pool.query<{ property_id: number }>(
    `insert into bellhop.property (client_code, property_code, bucket, created_by) values ('ACME', $1, $2, 'test')
     returning property_id`,
    [propertyCode, bucket],
  );
  return { bucket, propertyId: rows[0]?.property_id ?? 0 };
}

export async function askInsight(
  service: TestService,
  name: string,
  parameters: Readonly<Record<string, string>>,
  options: RequestOptions = {},
): Promise<Answer> {
  return await service.get(`/api/insight/v1/${name}?${new URLSearchParams(parameters)}`, options);
}

/** One page of an insight. */
export async function insightPage(
  service: TestService,
  name: string,
  parameters: Readonly<Record<string, string>>,
): Promise<InsightPageText> {
  const answer = await askInsight(service, name, parameters);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as unknown as InsightPageText;
}

/** All items of an insight, page by page. */
export async function insightItems(
  service: TestService,
  name: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  do {
    const page: InsightPageText = await insightPage(service, name, {
      ...parameters,
      ...(cursor === null ? {} : { cursor }),
    });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

function instantOf(random: SeededRandom): string {
  // From March to August: also while guests stay and after they left. Few distinct times, so that some are equal.
  const ms = Date.parse("2026-03-01T00:00:00Z") + below(random, 4_400) * 3_600_000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(below(random, 3)).padStart(3, "0")}Z`;
}

function runOf(random: SeededRandom, status: string, first: number, nights: number): ModelRun {
  const pick = <Value>(values: readonly Value[]) => random.pick(values);
  const rooms = pick([1, 1, 1, 2, 3, 0]);
  return {
    status,
    first,
    nights,
    rooms,
    adults: rooms * below(random, 3),
    children: rooms * below(random, 2),
    net: pick([null, 0, 9_999, 12_050, -310]),
    gross: pick([null, null, 13_333]),
    roomType: pick(["DLX", "STD", "Zoë"]),
    bookedRoomType: pick([null, "STD"]),
    marketSegment: pick([null, "LEISURE", "=cmd"]),
    group: pick([null, null, "G1"]),
    rateCode: pick(["BAR", "CORP"]),
    channel: pick([null, "WEB", "\u{1f600}"]),
    currency: pick([null, "EUR", "EUR", "JPY"]),
  };
}

/** Versions of reservations that nobody has thought of: late, at the same time, shared, long, of several runs. */
export function randomVersions(random: SeededRandom, keys: number): ModelVersion[] {
  return Array.from({ length: keys }, (_, at) => at).flatMap((at) => {
    const shares = below(random, 3) === 0;
    return Array.from({ length: 1 + below(random, 4) }, (): ModelVersion => {
      const status = random.pick(STATUSES);
      const long = below(random, 15) === 0;
      const runs: ModelRun[] = [];
      let first = FIRST_NIGHT - (long ? 60 : 5) + below(random, DAYS + 5);
      for (let run = below(random, 3); run >= 0; run -= 1) {
        const nights = 1 + below(random, long ? 90 : 5);
        runs.push(runOf(random, status, first, nights));
        // Also two stays of the same night.
        first += below(random, 2) === 0 ? nights : 0;
      }
      return {
        key: `R${at % 7}-${at}`,
        sourceTime: instantOf(random),
        receivedAt: instantOf(random),
        shareId: shares ? `S${below(random, 4)}` : null,
        runs,
      };
    });
  });
}

/** Versions of group block masters, each of two room types. */
export function randomBlocks(random: SeededRandom, keys: number): ModelBlock[] {
  return Array.from({ length: keys }, (_, at) => at).flatMap((at) =>
    Array.from({ length: 1 + below(random, 3) }, (): ModelBlock => {
      const status = random.pick(["DEFINITE", "TENTATIVE", "SPECIAL"]);
      return {
        key: `G${at}`,
        sourceTime: instantOf(random),
        receivedAt: instantOf(random),
        runs: ["DLX", "STD"].map((roomType) => {
          const {
            net: _net,
            gross: _gross,
            ...run
          } = runOf(random, status, FIRST_NIGHT + below(random, DAYS), 1);
          return {
            ...run,
            roomType,
            group: `G${at}`,
            nights: 1 + below(random, 40),
            blocks: below(random, 9),
            pickedUp: random.pick([null, 0, 3, 20]),
          };
        }),
      };
    }),
  );
}
