import assert from "node:assert/strict";
import type { ResourceLetter } from "#contract/resource.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import type { Answer, RequestOptions, TestClient, TestService } from "./service.ts";
import { until } from "./until.ts";

/** A page of a list, as clients read it. */
export interface Page {
  readonly items: readonly Record<string, unknown>[];
  readonly nextCursor: string | null;
}

/** The outcome that one request reports; `records` are those that are more than plainly applied. */
export interface RequestStatus {
  readonly requestId: string;
  readonly status: string;
  readonly appliedAt: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly records: readonly Record<string, unknown>[];
  readonly nextCursor: string | null;
}

export const LISBON = "clientCode=ACME&propertyCode=LIS01";

export function reservation(id: string, modified: string, more: Record<string, unknown> = {}) {
  return {
    clientCode: "ACME",
    propertyCode: "LIS01",
    reservationId: id,
    lastModifiedDateTime: modified,
    status: "CONFIRMED",
    roomStays: [{ arrivalDate: "2026-07-14", departureDate: "2026-07-17", roomTypeCode: "DLX" }],
    ...more,
  };
}

export function group(code: string, modified: string, more: Record<string, unknown> = {}) {
  return {
    clientCode: "ACME",
    propertyCode: "LIS01",
    groupCode: code,
    lastModifiedDateTime: modified,
    groupStatusCode: "DEFINITE",
    startDate: "2026-09-10",
    endDate: "2026-09-12",
    groupBlocks: [{ occupancyDate: "2026-09-10", roomTypeCode: "DLX", blocks: 20 }],
    ...more,
  };
}

export function inventory(date: string, created: string, more: Record<string, unknown> = {}) {
  return {
    clientCode: "ACME",
    propertyCode: "LIS01",
    createDateTime: created,
    occupancyDate: date,
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
    ...more,
  };
}

/** Posts a batch and answers its request id, once it is accepted. */
export async function accept(
  service: TestService,
  resource: string,
  body: RequestOptions["body"],
  options: RequestOptions = {},
): Promise<string> {
  const answer = await service.post(resource, body, options);
  assert.equal(answer.status, 202, answer.text);
  return String(answer.json()["requestId"]);
}

/** Posts a batch and waits until it is applied. */
export async function apply(
  service: TestService,
  resource: string,
  body: RequestOptions["body"],
  options: RequestOptions = {},
): Promise<string> {
  const requestId = await accept(service, resource, body, options);
  await untilApplied(service, requestId, options.as);
  return requestId;
}

export async function untilApplied(
  service: TestService,
  requestId: string,
  as?: TestClient | null,
): Promise<void> {
  const options = as === undefined ? {} : { as };
  await until(async () => (await readRequest(service, requestId, "", options)).status === "applied", 60_000);
}

/** Carries out what an operator decides about a quarantined record. */
export async function resolveQuarantined(
  service: TestService,
  kind: "release" | "discard",
  requestId: string,
  index: number,
  bucket: number,
  resource: ResourceLetter = "r",
): Promise<void> {
  const log = await AcceptLog.open(service.database.clientConfig, 1, {});
  await log.appendResolution({ kind, operator: "test", bucket, resource, requestId, index });
  await log.close();
  await until(async () => {
    const { records } = await readRequest(service, requestId);
    // What was applied without a word to report is not among them.
    return !records.some((record) => record["index"] === index && record["outcome"] === "quarantined");
  }, 60_000);
}

export async function readRequest(
  service: TestService,
  requestId: string,
  query = "",
  options: RequestOptions = {},
): Promise<RequestStatus> {
  const answer = await service.get(`/api/public/v1/requests/${requestId}${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as unknown as RequestStatus;
}

export async function readPage(
  service: TestService,
  path: string,
  options: RequestOptions = {},
): Promise<Page> {
  const answer = await service.get(`/api/public/v1/${path}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as unknown as Page;
}

/** Follows a list to its end; `between` runs after each page. */
export async function readAll(
  service: TestService,
  path: string,
  between: () => Promise<unknown> = async () => undefined,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let page = await readPage(service, path);
  for (;;) {
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    await between();
    page = await readPage(service, `${path}&cursor=${page.nextCursor}`);
  }
}

/** The message of a 400 about a parameter. */
export function parameterMessage(answer: Answer): string {
  assert.equal(answer.status, 400, answer.text);
  const body = answer.json();
  assert.equal(body["exception"], "bellhop.http.InvalidParameter");
  return String(body["message"]);
}
