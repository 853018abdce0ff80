import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { CertificationAnswer, CertificationItem } from "../../src/certification/console-answers.ts";
import { CHECKLIST } from "../../src/certification/report.ts";
import type { AuditItem } from "../../src/identity/console-answers.ts";
import type { Page } from "../../src/platform/http/answers.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { certifiedClient, standingOf } from "./certified-client.ts";

let service: TestService;
let operator: ConsoleSession;
before(async () => {
  service = await startTestService();
  operator = await logInAsNew(service, "olga", { role: "operator", grants: ["*/*"] });
});
after(() => service.stop());

test("a certification in the console is the client's own report, with a page of the documentation for each step", async () => {
  const { client, certificationId } = await certifiedClient(service, "SAME");
  const record = { ...reservation("s1", "2026-01-01T00:00:00Z"), clientCode: "SAME" };
  await service.post("reservations", [record], { as: client });
  const own = await standingOf(service, client);
  const shown = await operator.read<CertificationAnswer>(`certifications/${certificationId}`);
  const { verdict, observed, evidence, steps } = shown;
  assert.deepEqual(
    { verdict, observed, evidence, steps: steps.map(({ docs: _, ...step }) => step) },
    { verdict: own.verdict, observed: own.observed, evidence: own.evidence, steps: own.steps },
  );
  assert.deepEqual(shown.resources, ["inventories", "reservations", "groups"]);
  assert.equal(shown.openedBy, "cli:test");
  const later = `certifications/${certificationId}?since=2100-01-01T00:00:00Z`;
  assert.equal((await operator.read<CertificationAnswer>(later)).observed.batches, 0);
  const report = await operator.get(`certifications/${certificationId}/report`);
  assert.match(
    report.headers.get("content-disposition") ?? "",
    /^attachment; filename="certification-.*\.html"$/,
  );
  assert.match(report.text, new RegExp(own.evidence.hash));
});

test("certifications that wait for their reports keep no other page waiting", async () => {
  const { certificationId } = await certifiedClient(service, "WAITS");
  const holder = await service.pool.connect();
  await holder.query("begin; lock table bellhop.backfill in access exclusive mode");
  let answered = 0;
  const reports = Array.from({ length: 4 }, async () => {
    const { status } = await operator.get(`certifications/${certificationId}`);
    answered += 1;
    return status;
  });
  try {
    await operator.read<Page<CertificationItem>>("certifications");
    assert.equal(answered, 0);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  assert.deepEqual(await Promise.all(reports), [200, 200, 200, 200]);
});

test("each step's page of the documentation exists, with its heading", async () => {
  for (const { name, docs } of CHECKLIST) {
    const [page, anchor] = docs.split("#");
    const text = await readFile(new URL(`../../docs/${page}.md`, import.meta.url), "utf8");
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    );
    assert.ok(anchor === undefined || headings.includes(anchor), `${name}: ${docs}`);
  }
});

test("an operator starts and ends a certification, which the audit attributes", async () => {
  const { clientId } = await service.newClient({
    name: "Begins",
    grants: [{ clientCode: "GO", propertyCode: "*" }],
  });
  const start = { clientId, property: "GO/LIS01", days: 3 };
  const started = await operator.change<CertificationAnswer>("certifications", start);
  assert.deepEqual(
    [started.clientName, started.propertyCode, started.isOpen, started.verdict],
    ["Begins", "LIS01", true, "incomplete"],
  );
  for (const [wrong, status] of [
    [{ clientId, property: "GO" }, 422],
    [{ clientId, property: "OTHER/LIS01" }, 422],
    [{ clientId, days: 400 }, 422],
    [{ clientId: "bhc_nobody" }, 404],
  ] as const)
    assert.equal((await operator.post("certifications", wrong)).status, status, JSON.stringify(wrong));
  const path = `certifications/${started.certificationId}`;
  assert.equal((await operator.change<CertificationAnswer>(`${path}/end`)).isOpen, false);
  assert.equal((await operator.post(`${path}/end`)).status, 409);
  const admin = await logInAsNew(service, "adele");
  const { items } = await admin.read<Page<AuditItem>>(`audit?clientId=${clientId}&who=console:`);
  assert.deepEqual(
    items.map(({ who, what }) => `${who} ${what}`),
    ["console:olga end-certification", "console:olga open-certification"],
  );
});

test("certifications are listed a page at a time, newest first, by client and state", async () => {
  const { client, certificationId } = await certifiedClient(service, "PAGED");
  const next = await operator.change<CertificationAnswer>("certifications", { clientId: client.clientId });
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const address = `certifications?clientId=${client.clientId}&limit=1${cursor}`;
    const page = await operator.read<Page<CertificationItem>>(address);
    seen.push(...page.items.map((item) => item.certificationId));
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(seen, [next.certificationId, certificationId]);
  for (const [state, expected] of [
    ["open", next.certificationId],
    ["ended", certificationId],
  ] as const) {
    const address = `certifications?clientId=${client.clientId}&state=${state}`;
    const { items } = await operator.read<Page<CertificationItem>>(address);
    assert.deepEqual(
      items.map((item) => item.certificationId),
      [expected],
    );
  }
});
