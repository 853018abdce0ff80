import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Evidence, judge, type SeenRequest } from "../../src/certification/step.ts";
import { nullAndNumbers } from "../../src/certification/steps/null-and-numbers.ts";
import { rateLimit } from "../../src/certification/steps/rate-limit.ts";
import { retry } from "../../src/certification/steps/retry.ts";
import { tokenUse } from "../../src/certification/steps/token-use.ts";
import type { NotedEvent, WireEvent } from "../../src/certification/wire-notes.ts";

/** So many seconds after the certification was opened. */
const at = (seconds: number): string =>
  `${new Date(Date.UTC(2026, 5, 1, 8) + seconds * 1000).toISOString().slice(0, -1)}000Z`;

const noted = (seconds: number, event: WireEvent): NotedEvent => ({ ...event, at: at(seconds) });
const token = (seconds: number) => noted(seconds, { kind: "token", detail: { seconds: 900 } });
const tooMany = (seconds: number) =>
  noted(seconds, { kind: "rate-limited", detail: { retryAfterSeconds: 3 } });

const batch = (seconds: number): SeenRequest => ({
  requestId: `request-${seconds}`,
  receivedAt: at(seconds),
  resource: "reservations",
  records: 1,
});
const batches = (count: number, from: number, every = 1): SeenRequest[] =>
  Array.from({ length: count }, (_, index) => batch(from + index * every));

function evidence(events: readonly NotedEvent[], requests: readonly SeenRequest[]): Evidence {
  const certification = {
    certificationId: "c",
    clientId: "bhc_1",
    clientCode: "ACME",
    propertyCode: "CERT01",
    requestRate: 5,
    requestBurst: 20,
    clientName: "Partner",
    openedBy: "cli:test",
    scopes: [],
    tokenSeconds: 900,
    openedAt: at(0),
    endsAt: at(86_400),
    isOpen: true,
  };
  return { certification, from: at(0), requests, records: [], events, backfills: [], isWhole: true };
}

describe("token-use", () => {
  const resultOf = (events: readonly NotedEvent[], requests = batches(10, 1)) =>
    judge(tokenUse, evidence(events, requests)).result;
  test("passes with a token renewed late in its life, also after three restarts", () => {
    assert.equal(resultOf([token(0), token(800)]), "pass");
    assert.equal(resultOf([token(0), token(10), token(20), token(30), token(800)]), "pass");
  });
  test("is not yet seen while the first token lives, or with hardly a batch", () => {
    assert.equal(resultOf([]), "not-yet");
    assert.equal(resultOf([token(0)]), "not-yet");
    assert.equal(resultOf([token(0), token(800)], batches(4, 1)), "not-yet");
  });
  test("fails with a fourth early token, a token past its end, or one that was refused", () => {
    assert.equal(resultOf([token(0), token(1), token(2), token(3), token(4), token(800)]), "fail");
    assert.equal(resultOf([token(0), noted(900, { kind: "token-expired", detail: {} }), token(901)]), "fail");
    assert.equal(resultOf([token(0), noted(5, { kind: "token-limited", detail: {} }), token(800)]), "fail");
  });
});

describe("rate-limit", () => {
  const resultOf = (events: readonly NotedEvent[], requests: readonly SeenRequest[]) =>
    judge(rateLimit, evidence(events, requests)).result;
  test("passes when sending continues after the wait, despite requests already sent when the 429 arrived", () => {
    const underWay = Array.from({ length: 16 }, (_, index) => tooMany(10 + index / 100));
    assert.equal(resultOf([tooMany(10), ...underWay.slice(1)], [...batches(10, 0), batch(13)]), "pass");
    const stampedAfter = batches(20, 10.007, 0.001);
    assert.equal(resultOf([tooMany(10)], [...stampedAfter, batch(13)]), "pass");
  });
  test("is not yet seen without a 429, and without anything after its wait", () => {
    assert.equal(resultOf([], batches(10, 0)), "not-yet");
    assert.equal(resultOf([tooMany(10)], batches(10, 0)), "not-yet");
  });
  test("fails when requests go on within the wait, refused or not", () => {
    const refused = Array.from({ length: 20 }, (_, index) => tooMany(10 + index / 10));
    assert.equal(resultOf(refused, [batch(13)]), "fail");
    assert.equal(resultOf([tooMany(10)], batches(18, 10.2, 0.1)), "fail");
  });
});

test("retry fails when a key is used for another batch, though one was repeated rightly", () => {
  const repeated = noted(1, { kind: "repeated", detail: { requestId: "request-0" } });
  const reused = noted(2, {
    kind: "refused",
    detail: {
      resource: "groups",
      status: 422,
      code: "bellhop.accept.IdempotencyKeyReused",
      violations: [],
    },
  });
  assert.equal(judge(retry, evidence([repeated], [batch(0)])).result, "pass");
  assert.equal(judge(retry, evidence([repeated, reused], [batch(0)])).result, "fail");
});

test("null-and-numbers fails by a price that went through binary floating point", () => {
  const record = (rateValue: unknown, nulls: object = { cancellationDateTime: null }) => ({
    requestId: "request-1",
    receivedAt: at(1),
    index: 0,
    resource: "reservations" as const,
    clientCode: "ACME",
    propertyCode: "CERT01",
    key: "R-1",
    sourceTime: at(0),
    outcome: "applied" as const,
    warnings: [],
    digest: "",
    fields: { ...nulls, roomStays: [{ rates: [{ rateValue }] }] },
  });
  const judged = (value: unknown, nulls?: object) =>
    judge(nullAndNumbers, { ...evidence([], [batch(1)]), records: [record(value, nulls)] });
  assert.equal(judged("129.90").result, "pass");
  assert.equal(judged("129.90", { primarySharer: null }).result, "pass");
  assert.equal(judged("129.90", { reservationStatus: null }).result, "not-yet");
  assert.equal(judged("129.90", {}).result, "not-yet");
  const { result, reason } = judged(43.3 * 3);
  assert.equal(result, "fail");
  assert.match(reason, /129\.89999999999998 at \/0\/roomStays\/0\/rates\/0\/rateValue/);
});
