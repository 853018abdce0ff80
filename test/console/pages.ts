import type { Page } from "playwright-core";
import type { Hotel } from "./hotel.ts";

/** Every page of the console as it is for the hotel of the tests: a name, and the address within the console. */
export function pagesOf(hotel: Hotel, clientId: string): readonly (readonly [name: string, path: string])[] {
  const {
    clientCode,
    propertyCode,
    quarantinedRequestId,
    lenientRequestId,
    wrongNight,
    changedKey,
    endpointId,
    backfillId,
    certificationId,
  } = hotel;
  const codes = new URLSearchParams({ clientCode, propertyCode }).toString();
  return [
    ["portfolio", "/?nights=90"],
    ["portfolio-report", "/report"],
    ["intake", "/intake"],
    ["requests", "/requests?outcome=failed"],
    ["request", `/requests/${lenientRequestId}`],
    ["record", `/requests/${lenientRequestId}/1`],
    ["quarantine", "/quarantine"],
    ["quarantined-record", `/quarantine/${quarantinedRequestId}/1`],
    ["backfills", "/backfills"],
    ["backfill", `/backfills/${backfillId}`],
    ["certifications", "/certifications"],
    ["certification", `/certifications/${certificationId}`],
    ["overview", `/property?${codes}`],
    ["report", `/property/report?${codes}`],
    ["on-the-books", `/property/on-the-books?${codes}`],
    ["a-night", `/property/on-the-books?${codes}&night=${wrongNight}&by=marketSegment`],
    ["pace", `/property/pace?${codes}`],
    ["pickup", `/property/pickup?${codes}`],
    ["blocks", `/property/blocks?${codes}`],
    ["reconciliation", `/property/reconciliation?${codes}&night=${wrongNight}`],
    ["calendar", `/property/calendar?${codes}`],
    ["history", `/history?${codes}&resource=reservations&key=${changedKey}`],
    ["clients", "/clients"],
    ["client", `/clients/${clientId}`],
    ["new-client", "/clients/new"],
    ["webhooks", "/webhooks"],
    ["webhook", `/webhooks/${endpointId}`],
    ["subscriptions", "/subscriptions"],
    ["settings", "/settings"],
    ["audit", "/audit"],
    ["operators", "/operators"],
    ["account", "/account"],
  ];
}

/** Nothing is on its way any more: no skeleton, no chart that is yet to be drawn, all fonts there. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  await page.locator(".waiting, .chart-space, .renewing").first().waitFor({ state: "detached" });
  await page.evaluate("document.fonts.ready.then(() => undefined)");
}

/** Logs in as an operator would. */
export async function logInByHand(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Operator").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}
