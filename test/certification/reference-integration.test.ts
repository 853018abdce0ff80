import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BellhopClient } from "#client";
import {
  openIntegration,
  REFERENCE_STEPS,
  type ReferenceStep,
  runReference,
} from "../../src/certification/reference/run-reference.ts";
import { CHECKLIST } from "../../src/certification/report.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { certifiedClient, resultsOf, standingOf } from "./certified-client.ts";
import { PLANTED } from "./planted-integrations.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const NAMES = CHECKLIST.map(({ name }) => name);
const ALL_PASS = Object.fromEntries(NAMES.map((name) => [name, "pass"]));

function optionsOf({ clientId, clientSecret }: TestClient) {
  return { baseUrl: service.address, authUrl: service.service.authAddress, clientId, clientSecret };
}

async function takeToken({ clientId, clientSecret }: TestClient): Promise<void> {
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
  const address = new URL("/api/oauth2/token", service.service.authAddress);
  const response = await fetch(address, { method: "POST", body: new URLSearchParams(form) });
  await response.body?.cancel();
  assert.equal(response.status, 200);
}

/** In place of waiting for the life of a token: one more is taken, and noted as if that were ten minutes later. */
async function renewLater(client: TestClient, certificationId: string): Promise<void> {
  await takeToken(client);
  // Everything that was noted is written then.
  await standingOf(service, client);
  await service.pool.query(
    `update bellhop.certification_event set noted_at = noted_at + interval '10 minutes'
    where certification_id = $1 and event_no = (
      select max(event_no) from bellhop.certification_event where certification_id = $1 and kind = 'token'
    )`,
    [certificationId],
  );
}

/** Runs the steps, one after another, as a client of its own, and answers how each then stands. */
async function certify(code: string, planted: Readonly<Record<string, ReferenceStep>>) {
  const { client, certificationId } = await certifiedClient(service, code);
  const integration = await openIntegration(new BellhopClient(optionsOf(client)));
  const { "rate-limit": rateLimit, ...others } = REFERENCE_STEPS;
  // In any order: the one that uses up the client's rate comes last, so that no other has to wait for it.
  const steps: Record<string, ReferenceStep> = {
    ...others,
    "token-use": () => renewLater(client, certificationId),
    "rate-limit": rateLimit,
    ...planted,
  };
  for (const step of Object.values(steps)) await step(integration);
  return { client, report: await standingOf(service, client) };
}

// Several at once: what takes time is the wait after a 429 and the life of a token.
describe("an integration", { concurrency: 5 }, () => {
  test("that is the reference is certified by running the checklist, and the report names the requests", async () => {
    // The client renews a token when four fifths of its life are over.
    const { client } = await certifiedClient(service, "REFERENCE", { tokenSeconds: 30 });
    const reported: string[] = [];
    const waits: [reason: string, ms: number | undefined][] = [];
    const report = await runReference(
      optionsOf(client),
      (step) => reported.push(step),
      (reason, { ms }) => waits.push([reason, ms]),
    );
    assert.ok(waits.some(([reason, ms]) => /rate is exceeded/.test(reason) && (ms ?? 0) >= 3_000));
    assert.ok(waits.some(([reason]) => /has not been renewed\. Continue sending for/.test(reason)));
    assert.deepEqual(resultsOf(report), ALL_PASS, JSON.stringify(report.steps, null, 2));
    assert.equal(report.verdict, "certified");
    assert.deepEqual(reported.sort(), NAMES.toSorted());
    const silent = report.steps.filter(
      ({ step, requestIds }) => step !== "token-use" && requestIds.length === 0,
    );
    assert.deepEqual(silent, []);
  });
  for (const [name, planted] of Object.entries(PLANTED))
    test(`that does ${name} wrong fails at it, and nowhere else`, async () => {
      const { report } = await certify(`PLANTED-${name}`, { [name]: planted });
      const wrong = report.steps.filter(({ result }) => result !== "pass");
      assert.deepEqual(resultsOf(report), { ...ALL_PASS, [name]: "fail" }, JSON.stringify(wrong, null, 2));
      assert.equal(report.verdict, "failed");
    });
  test("that requests a token for every request fails only at token-use", async () => {
    const planted = async () => undefined;
    const { client } = await certify("PLANTED-token", { "token-use": planted });
    for (let request = 0; request < 8; request += 1) await takeToken(client);
    const report = await standingOf(service, client);
    assert.deepEqual(resultsOf(report), { ...ALL_PASS, "token-use": "fail" });
  });
});

test("every step has an integration that does it wrong", () => {
  assert.deepEqual([...Object.keys(PLANTED), "token-use"].sort(), NAMES.toSorted());
});
