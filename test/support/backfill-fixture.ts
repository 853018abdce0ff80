import assert from "node:assert/strict";
import type { Answer, RequestOptions, TestService } from "./service.ts";
import { until } from "./until.ts";

export const BACKFILLS = "/api/public/v1/backfills";

/** What has come of one resource, as partners read it. */
export interface ReportedResource {
  readonly resource: string;
  readonly batches: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly distinctRecords: number;
  readonly missingRecords: number | null;
  readonly datesNamed: number | null;
  readonly datesCovered: number | null;
  readonly waitingBatches: number;
}

/** A backfill as partners read it. */
export interface ReportedBackfill {
  readonly backfillId: string;
  readonly state: string;
  readonly resources: readonly ReportedResource[];
  readonly waitingBatches: number;
  readonly lateBatches: number;
  readonly statementHash: string | null;
  readonly signatures: readonly { readonly side: string; readonly signedBy: string }[];
}

export const asBackfill = (answer: Answer): ReportedBackfill => answer.json() as unknown as ReportedBackfill;

/** Posts JSON to an address of backfills. */
export function post(
  service: TestService,
  path: string,
  body?: object | string,
  options: RequestOptions = {},
): Promise<Answer> {
  return service.send("POST", `${BACKFILLS}${path}`, { ...options, ...(body === undefined ? {} : { body }) });
}

/** Opens a backfill of a property of ACME. */
export async function open(
  service: TestService,
  propertyCode: string,
  resources: readonly object[],
  options: RequestOptions = {},
): Promise<string> {
  const answer = await post(service, "", { clientCode: "ACME", propertyCode, resources }, options);
  assert.equal(answer.status, 201, answer.text);
  const { backfillId } = asBackfill(answer);
  assert.equal(answer.headers.get("location"), `${BACKFILLS}/${backfillId}`);
  return backfillId;
}

export async function progress(service: TestService, backfillId: string): Promise<ReportedBackfill> {
  const answer = await service.get(`${BACKFILLS}/${backfillId}`);
  assert.equal(answer.status, 200, answer.text);
  return asBackfill(answer);
}

/** What has come of a resource, once all is applied. */
export async function appliedOf(
  service: TestService,
  backfillId: string,
  resource: string,
): Promise<ReportedResource> {
  await until(async () => (await progress(service, backfillId)).waitingBatches === 0, 60_000);
  const found = (await progress(service, backfillId)).resources.find((each) => each.resource === resource);
  assert.ok(found !== undefined);
  return found;
}

/** Closes a backfill; what was received within the last seconds has to settle first. */
export async function close(
  service: TestService,
  backfillId: string,
  form?: { readonly acceptGaps: boolean },
): Promise<Answer> {
  let answer: Answer | undefined;
  await until(async () => {
    answer = await post(service, `/${backfillId}/close`, form);
    if (answer.json()["exception"] !== "bellhop.backfill.NotReady") return true;
    assert.equal(answer.status, 409);
    assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]$/);
    assert.doesNotMatch(String(answer.json()["message"]), /\b1 batches/);
    return false;
  }, 60_000);
  return answer as Answer;
}

/** Every gap, page by page. */
export async function gapsOf(
  service: TestService,
  backfillId: string,
  limit: number,
): Promise<Record<string, unknown>[]> {
  const gaps: Record<string, unknown>[] = [];
  let cursor = "";
  do {
    const answer = await service.get(`${BACKFILLS}/${backfillId}/gaps?limit=${limit}${cursor}`);
    assert.equal(answer.status, 200, answer.text);
    const page = answer.json() as { items: Record<string, unknown>[]; nextCursor: string | null };
    assert.ok(page.items.length <= limit);
    gaps.push(...page.items);
    cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
  } while (cursor !== "");
  return gaps;
}
