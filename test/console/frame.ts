import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { AttentionAnswer } from "../../src/insight/console/answers.ts";
import { type ConsoleSession, logInAsNew, PASSWORD } from "../support/console-session.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import type { TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";
import { violationsInEachLook, violationsOf } from "./axe.ts";
import { DESK, PHONE } from "./chromium.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { logInByHand, settled } from "./pages.ts";

const PARIS = { clientCode: "ACME", propertyCode: "PARIS01" };
const CODES = new URLSearchParams(PARIS).toString();

const search = (page: Page) => page.getByRole("dialog", { name: "Search" });
const options = (of: Locator) => of.getByRole("option");
const chosen = (of: Locator) => of.getByRole("option", { selected: true });

/** Another property, with one reservation and two quarantined ones. */
async function fillSeaside(service: TestService): Promise<void> {
  const ahead = new Date(Date.now() + 40 * 86_400_000).toISOString();
  const rows = ["2026-01-01T00:00:00Z", ahead, ahead].map((modified, at) => ({
    ...reservation(`R-SEA-${at}`, modified),
    propertyCode: "SEASIDE01",
  }));
  const grants = [{ clientCode: "ACME", propertyCode: "SEASIDE01" }];
  await apply(service, "reservations", rows, {
    as: await service.newClient({ name: "Seaside PMS", grants }),
  });
}

/** Holds back what matches until it is let go. */
async function holdBack(page: Page, address: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** What is around each page. The settings that it makes stay. */
export const describeFrame = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("the frame of the console", () => {
    let session: ConsoleSession | undefined;
    let filled: Promise<void> | undefined;
    const seaside = () => {
      filled ??= fillSeaside(service());
      return filled;
    };
    const set = async (name: string, value: string) => {
      session ??= await logInAsNew(service(), "frame");
      await session.change("settings/set", { ...PARIS, name, value });
    };

    const nameIt = () => set("name", "Hôtel du Louvre");

    inWindow(
      "a console that was opened without a database appears once there is one",
      async (page, complaints) => {
        const unavailable = { exception: "bellhop.accept.Unavailable", message: "No database." };
        await page.route(/console\/api\/session/, (route) =>
          route.fulfill({ status: 503, headers: { "retry-after": "1" }, json: unavailable }),
        );
        await page.goto(`${service().address}/console/`);
        await page.getByText(unavailable.message).waitFor();
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await page.getByRole("heading", { name: "Portfolio" }).waitFor();
        complaints.length = 0;
      },
    );

    inWindow("the search is opened, used and left by keyboard, and axe finds nothing wrong", async (page) => {
      await nameIt();
      await visit(page, "/requests");
      await page.keyboard.press("Control+k");
      const found = search(page);
      await chosen(found).getByText("Portfolio").waitFor();
      await page.keyboard.type("hotel du l");
      await chosen(found).getByText("Hôtel du Louvre").waitFor();
      assert.deepEqual(await violationsInEachLook(page), []);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Hôtel du Louvre" }).waitFor();
      await page.keyboard.press("Meta+k");
      await found.getByRole("combobox").fill(hotel().changedKey.toLowerCase());
      await chosen(found).getByText(hotel().changedKey).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: `Reservation ${hotel().changedKey}` }).waitFor();
      await page.getByRole("button", { name: "Search" }).click();
      await page.keyboard.type(hotel().lenientRequestId.slice(0, 30));
      await options(found).getByText("2 records of reservations").first().waitFor();
      await page.keyboard.press("Escape");
      await found.waitFor({ state: "detached" });
      assert.equal(await page.evaluate("document.activeElement?.className"), "search-field");
    });

    inWindow("the search lists what was opened of late, and moves round its list", async (page) => {
      await nameIt();
      await visit(page, `/property?${CODES}`);
      await visit(page, `/clients/${service().client.clientId}`);
      await visit(page, "/audit");
      await page.keyboard.press("Control+k");
      const recent = search(page).getByRole("group", { name: "Recent" });
      assert.deepEqual(
        (await options(recent).allInnerTexts()).map((text) => text.split("\n")[0]),
        ["Partner", "Hôtel du Louvre"],
      );
      await page.keyboard.press("ArrowDown");
      await chosen(recent).getByText("Hôtel du Louvre").waitFor();
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowUp");
      await chosen(search(page)).getByText("Log out").waitFor();
      await page.keyboard.type("aud");
      await chosen(search(page)).getByText("Audit").waitFor();
    });

    inWindow(
      "the search finds nothing that the operator may not see, and nobody else's visits",
      async (page, complaints) => {
        await nameIt();
        await logInAsNew(service(), "narrow", { role: "viewer", grants: ["ACME/NOWHERE01"] });
        await page.goto(`${service().address}/console/property?${CODES}`);
        await logInByHand(page, "frame", PASSWORD);
        await page.getByRole("heading", { level: 1, name: "Hôtel du Louvre" }).waitFor();
        await page.getByRole("button", { name: "Log out" }).click();
        await logInByHand(page, "narrow", PASSWORD);
        await page.getByText("No property has these codes").first().waitFor();
        // Away from it: the search does not list the page that is open.
        await visit(page, "/requests");
        await page.keyboard.press("Control+k");
        await chosen(search(page)).waitFor();
        assert.doesNotMatch(await search(page).innerText(), /Louvre|Clients|Webhooks|Operators|Audit/);
        for (const text of [
          "Louvre",
          "PARIS01",
          "Riverside",
          hotel().changedKey,
          hotel().lenientRequestId,
          "Operators",
        ]) {
          await search(page).getByRole("combobox").fill(text);
          await search(page).getByText(`Nothing is called “${text}”`).waitFor();
        }
        // The property that the other operator left open is refused.
        complaints.splice(0);
      },
      { loggedOut: true },
    );

    inWindow(
      "another property is opened on the same page with the same dates, and axe finds nothing wrong",
      async (page) => {
        await nameIt();
        await seaside();
        await visit(page, `/property/pickup?${CODES}&from=2026-07-01&to=2026-07-31`);
        await page.getByRole("button", { name: "Switch property" }).click();
        const dialog = page.getByRole("dialog", { name: "Switch property" });
        await options(dialog).getByText("Hôtel du Louvre").waitFor();
        assert.deepEqual(await violationsInEachLook(page), []);
        await page.keyboard.type("seaside01");
        await options(dialog).getByText("Hôtel du Louvre").waitFor({ state: "detached" });
        await chosen(dialog).getByText("ACME / SEASIDE01").waitFor();
        await page.keyboard.press("Enter");
        await page.waitForURL(/SEASIDE01/);
        assert.equal(
          page.url().split("/console")[1],
          "/property/pickup?clientCode=ACME&propertyCode=SEASIDE01&from=2026-07-01&to=2026-07-31",
        );
      },
    );

    inWindow("prints a page without what leads elsewhere", async (page) => {
      await visit(page, "/audit");
      const links = page.getByRole("link", {
        name: /^(Ingestion|Help about this page|Skip to the content)$/,
      });
      assert.equal(await links.count(), 3);
      await page.emulateMedia({ media: "print" });
      assert.equal(await links.count(), 0);
      assert.ok(await page.getByRole("heading", { name: "Audit" }).isVisible());
      await page.emulateMedia({ media: null });
    });

    inWindow(
      "the navigation counts quarantined records and silent feeds, and leads to them",
      async (page) => {
        await set("cadence.groups", "0.001");
        const { silent, quarantined } = await untilFound(async () => {
          const answer = await session?.read<AttentionAnswer>("attention");
          return answer !== undefined && answer.silent > 0 ? answer : undefined;
        }, 30_000);
        assert.ok(quarantined > 0);
        await visit(page, "/audit");
        const navigation = page.getByRole("navigation", { name: "Console" });
        await navigation.getByRole("link", { name: `${quarantined} quarantined record` }).waitFor();
        const properties = silent === 1 ? "1 property" : `${silent} properties`;
        const link = navigation.getByRole("link", { name: `${properties} with a silent feed` });
        await link.getByText(String(silent), { exact: true }).waitFor();
        await link.click();
        await page.getByText("groups silent").waitFor();
        assert.equal(await page.getByLabel("Attention").inputValue(), "silent");
        assert.equal(await page.getByRole("row", { name: /silent/ }).count(), silent);
      },
    );

    inWindow("a night says where it is, and leads back up", async (page) => {
      await nameIt();
      await visit(page, `/property/on-the-books?${CODES}&night=2026-03-14`);
      const crumbs = page.getByRole("navigation", { name: "Breadcrumb" });
      assert.deepEqual(await crumbs.getByRole("listitem").allInnerTexts(), [
        "Portfolio",
        "Hôtel du Louvre",
        "On the books",
        "Sat 14 Mar 2026",
      ]);
      await crumbs.getByText("On the books").click();
      await page.waitForURL((url) => !url.search.includes("night"));
    });

    inWindow(
      "on a phone the filters are one button, and the active ones are taken away one by one",
      async (page) => {
        await page.setViewportSize(PHONE);
        await visit(page, "/requests?outcome=failed&clientCode=ACME");
        assert.equal(await page.getByRole("combobox", { name: "Outcome" }).isVisible(), false);
        assert.deepEqual(await violationsOf(page), []);
        await page.getByRole("button", { name: "Remove Outcome: failed in any way" }).click();
        await page.waitForURL((url) => url.search === "?clientCode=ACME");
        const button = page.getByRole("button", { name: "Filters (1)" });
        assert.equal(
          await button.evaluate((element) => element === element.ownerDocument.activeElement),
          true,
        );
        await button.click();
        await page.getByRole("combobox", { name: "Outcome" }).selectOption("rejected");
        await page.getByRole("button", { name: "Filters (2)" }).waitFor();
        assert.deepEqual(await violationsOf(page, "layout"), []);
        await page.setViewportSize(DESK);
        await page.getByRole("button", { name: "Filters (2)" }).waitFor({ state: "detached" });
      },
    );

    inWindow("a table that is wider than its place fades where there is more", async (page) => {
      await page.setViewportSize(PHONE);
      await visit(page, `/property/on-the-books?${CODES}`);
      const frame = page.locator("section.table-frame[data-more-after]").first();
      await frame.waitFor();
      await frame.evaluate((element) => element.scrollTo({ left: element.scrollWidth }));
      await page.locator("section.table-frame:not([data-more-after])").first().waitFor();
    });

    inWindow("times of a property are shown in its own zone if chosen, and stay dates stay", async (page) => {
      await set("timeZone", "Asia/Kolkata");
      await visit(page, `/history?${CODES}&resource=reservations&key=${hotel().changedKey}`);
      const first = page.locator(".timeline time").first();
      const utc = await first.innerText();
      assert.match(utc, /10:00:00 UTC$/);
      await page.getByLabel("Times in").selectOption("property");
      assert.equal(await first.innerText(), utc.replace("10:00:00 UTC", "15:30:00 GMT+5:30"));
      const changes = await page.locator(".changes").allInnerTexts();
      await visit(
        page,
        `/property/on-the-books?${CODES}&asOf=2026-03-14T20:00&from=2026-03-14&to=2026-03-20`,
      );
      assert.equal(await page.getByLabel(/^As of/).inputValue(), "2026-03-15T01:30");
      await page.getByText("15 Mar 2026 01:30 GMT+5:30").first().waitFor();
      await page.getByLabel(/^As of/).fill("2026-03-16T00:00");
      await page.waitForURL(/asOf=2026-03-15T18%3A30/);
      assert.equal(await page.getByLabel(/^From night/).inputValue(), "2026-03-14");
      await page.getByLabel("Times in").selectOption("utc");
      await visit(page, `/history?${CODES}&resource=reservations&key=${hotel().changedKey}`);
      assert.equal(await first.innerText(), utc);
      assert.deepEqual(await page.locator(".changes").allInnerTexts(), changes);
      assert.deepEqual(await violationsOf(page), []);
    });

    inWindow("the nights of the weekend are those that the property's setting names", async (page) => {
      await set("weekend", "sun, thu");
      await visit(page, `/property/on-the-books?${CODES}`);
      const rows = page.getByRole("table").locator("tr.weekend");
      await rows.first().waitFor();
      const days = (await rows.getByRole("rowheader").allInnerTexts()).map((text) => text.slice(0, 3));
      assert.deepEqual([...new Set(days)].sort(), ["Sun", "Thu"]);
      await settled(page);
    });

    inWindow("an export is saved also where its page was left meanwhile", async (page) => {
      await visit(page, "/requests");
      const letGo = await holdBack(page, /api\/requests\?limit=1000/);
      await page.getByRole("button", { name: "Download CSV" }).click();
      const working = page.getByRole("region", { name: "In progress" });
      await working.getByText("Rows of requests.csv").waitFor();
      await page.getByRole("link", { name: "Settings", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
      await settled(page);
      assert.deepEqual(await violationsInEachLook(page), []);
      const saved = page.waitForEvent("download");
      letGo();
      assert.equal((await saved).suggestedFilename(), "requests.csv");
      await working.waitFor({ state: "detached" });
    });

    inWindow("an export is stopped, saves nothing, and can be started again", async (page) => {
      const saved: string[] = [];
      page.on("download", (download) => saved.push(download.suggestedFilename()));
      await visit(page, "/requests");
      const letGo = await holdBack(page, /api\/requests\?limit=1000/);
      await page.getByRole("button", { name: "Download CSV" }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("region", { name: "In progress" }).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Download CSV", disabled: false }).waitFor();
      assert.equal(await page.locator(".toast").innerText(), "");
      letGo();
      const again = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download CSV" }).click();
      await again;
      assert.deepEqual(saved, ["requests.csv"]);
    });

    inWindow(
      "a decision on several records goes on in the background, and says when it is over",
      async (page) => {
        await seaside();
        await visit(page, "/quarantine?clientCode=ACME&propertyCode=SEASIDE01");
        await page.getByLabel("All", { exact: true }).check();
        await page.getByRole("button", { name: "Discard…" }).click();
        await page.getByLabel("Reason").last().fill("sent twice");
        const letGo = await holdBack(page, /api\/quarantine\/discard/);
        await page.getByRole("button", { name: "Discard 2 records" }).click();
        await page.getByRole("button", { name: "Continue in the background" }).click();
        await page.getByRole("link", { name: "Requests", exact: true }).click();
        const working = page.getByRole("region", { name: "In progress" });
        await working.getByText("0 of 2").waitFor();
        letGo();
        await page.getByRole("status").getByText("2 records discarded.").waitFor();
        await working.waitFor({ state: "detached" });
        await visit(page, "/quarantine?clientCode=ACME&propertyCode=SEASIDE01");
        await page.getByText("No record that matches is quarantined").waitFor();
      },
    );

    inWindow("a list stays in sight while another order or filter is awaited", async (page) => {
      await visit(page, "/requests");
      const letGo = await holdBack(page, /api\/requests\?resource=groups/);
      await page.getByLabel("Resource").selectOption("groups");
      await page.waitForURL(/resource=groups/);
      await page.locator(".renewing").waitFor({ state: "attached" });
      assert.ok((await page.getByRole("table").getByRole("row").count()) > 2);
      assert.equal(await page.locator(".waiting").count(), 0);
      letGo();
      await settled(page);
      assert.deepEqual(
        [...new Set(await page.locator("td[data-head=Resource]").allInnerTexts())],
        ["groups"],
      );
    });
  });
