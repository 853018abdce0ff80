import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { parquetReadObjects } from "hyparquet";
import { addDays } from "#contract/dates.ts";
import type { ClientAnswer } from "../../src/identity/console-answers.ts";
import type { QuarantineAnswer, RequestAnswer } from "../../src/query/console/answers.ts";
import { addOperator, logInAsNew, PASSWORD } from "../support/console-session.ts";
import { until } from "../support/until.ts";
import { violationsInEachLook, violationsOf } from "./axe.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { quarantineChange, quarantineMany } from "./hotel.ts";
import { logInByHand, settled } from "./pages.ts";

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

/** What they do to the hotel stays: they come after those that only look. */
export const describeOperator = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("an operator in the console", () => {
    inWindow(
      "logs in where a deep link leads, and a wrong password is reported; axe finds nothing wrong with either",
      async (page, complaints) => {
        await page.goto(`${service().address}/console/requests?outcome=failed`);
        await page.getByRole("heading", { name: "Log in to the console" }).waitFor();
        assert.deepEqual(await violationsOf(page), []);
        await logInByHand(page, "anna", "a wrong password");
        await page.getByRole("alert").waitFor();
        assert.deepEqual(await violationsOf(page), []);
        // The browser notes the 401.
        assert.equal(complaints.splice(0).length, 1);
        await logInByHand(page, "anna", PASSWORD);
        await page.getByRole("heading", { name: "Requests" }).waitFor();
        assert.equal(new URL(page.url()).search, "?outcome=failed");
        // What is still being read when the session ends is answered 401.
        await settled(page);
        await page.getByLabel("Client code").getByText("ACME").first().waitFor({ state: "attached" });
        await page.getByRole("button", { name: "Log out" }).click();
        await page.getByRole("heading", { name: "Log in to the console" }).waitFor();
      },
      { loggedOut: true },
    );

    inWindow("is told where a logout did not reach the service", async (page, complaints) => {
      await visit(page, "/");
      await page.route(/console\/api\/logout$/, (route) => route.abort());
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByText("The service cannot be reached.").waitFor();
      // The browser notes what was not loaded.
      assert.equal(complaints.splice(0).length, 1);
    });

    inWindow("who is about to abandon a backfill is not asked to sign it once it closes", async (page) => {
      await visit(page, `/backfills/${hotel().backfillId}`);
      await page.getByRole("button", { name: "Abandon…" }).click();
      await page.getByText("Abandon this backfill?").waitFor();
      await page.route(/console\/api\/backfills\/[^/]+$/, async (route) => {
        const response = await route.fetch();
        const ofClosed = { state: "closed", reproduced: true, statementHash: "0".repeat(64) };
        await route.fulfill({ response, json: { ...(await response.json()), ...ofClosed } });
      });
      await page.getByText("Counts of the statement").waitFor();
      assert.equal(await page.getByText("Sign this statement?").count(), 0);
    });

    inWindow("finds a failed record and where in what was sent the reason stands", async (page) => {
      await visit(page, "/");
      await page.getByRole("link", { name: "Requests", exact: true }).click();
      await page.getByLabel("Outcome").selectOption("rejected");
      await page.waitForURL(/outcome=rejected/);
      // Until the answer comes the rows are those of before, of which another is the first.
      await page.locator(`main tbody tr:first-child a[href*="${hotel().lenientRequestId}"]`).first().click();
      await page.getByRole("link", { name: "R-LENIENT-2" }).click();
      await page
        .getByRole("cell", { name: /departure/i })
        .first()
        .waitFor();
      const marked = await page.locator(".payload [data-marked]").allInnerTexts();
      assert.match(marked.join("\n"), /Date|roomStays/);
      await page.getByText(/^\d+ fields that Bellhop reads$/).click();
      const field = page
        .getByRole("table", { name: "Fields of this record" })
        .getByRole("row", { name: /^reservationId/ });
      await field.first().waitFor();
      assert.match((await field.allInnerTexts()).join(), /R-LENIENT-2\s+Id of the reservation/);
    });

    inWindow("finds requests by the name of a client, by client code and by a picked time", async (page) => {
      await visit(page, "/requests");
      assert.equal(await page.getByLabel("Property code").count(), 0);
      const riverside = page.getByLabel("Client", { exact: true }).getByText(/Riverside PMS/);
      await page.getByLabel("Client", { exact: true }).selectOption(await riverside.getAttribute("value"));
      await page.waitForURL(/clientId=/);
      const clients = page.locator("td[data-head=Client]");
      await until(async () => [...new Set(await clients.allInnerTexts())].join() === "Riverside PMS", 20_000);
      await page.getByLabel("Client code").selectOption("ACME");
      await page.getByLabel("Property code").fill("NOPE");
      await page.getByText("No request matches these filters").waitFor();
      await page.getByLabel("Property code").fill("");
      await page.getByLabel("Received from").fill("2100-01-01T00:00");
      await page.waitForURL(/from=2100/);
      await page.getByText("1 Jan 2100 00:00 UTC").waitFor();
      await page.getByText("No request matches these filters").waitFor();
      await page.getByLabel("Received from").fill("");
      await clients.first().waitFor();
      assert.doesNotMatch(page.url(), /from=/);
    });

    inWindow("releases a quarantined record, with a reason that the audit keeps", async (page) => {
      await visit(page, "/quarantine");
      const row = page.getByRole("row", { name: hotel().quarantinedKey });
      const why = await row.locator("td[data-head=Why]").innerText();
      assert.match(why, /^The source time \S+Z is \S+ days in the future$/);
      await row.getByRole("link", { name: hotel().quarantinedKey }).click();
      await page.getByText(why).waitFor();
      await page.getByRole("button", { name: "Release…" }).click();
      await page.getByLabel("Reason (optional)").fill("the clock of the sender was wrong");
      await page.getByRole("button", { name: "Release", exact: true }).click();
      await page.getByText("Released: applied verbatim").waitFor();
      await visit(
        page,
        `/history?clientCode=ACME&propertyCode=PARIS01&resource=reservations&key=${hotel().quarantinedKey}`,
      );
      await page.getByText("First known version.").waitFor();
      await visit(page, "/audit");
      await page.getByLabel("What", { exact: true }).selectOption("Quarantine");
      const entry = page.getByRole("row", { name: /the clock of the sender was wrong/ });
      assert.match(
        await entry.innerText(),
        /anna \(admin\) released a quarantined record of ACME \/ PARIS01: “the clock of the sender was wrong”/,
      );
      await entry.getByRole("button").click();
      await page.getByText("release-quarantined-record").waitFor();
      assert.deepEqual(await violationsOf(page), []);
      await page.getByLabel("Who", { exact: true }).selectOption("The command line");
      await page.getByText("No entry matches these filters").waitFor();
    });

    inWindow(
      "decides on the quarantined records of a reason at once, and sees which could not be decided on",
      async (page, complaints) => {
        const { requestId, keys } = await quarantineMany(service());
        await visit(page, "/quarantine");
        await page.getByRole("link", { name: "Source time in the future" }).click();
        await page.getByRole("link", { name: "ACME / BULK01" }).first().click();
        // The records before are shown until these come, and what is selected there is forgotten then.
        await settled(page);
        await page.getByText("Page 1: 50 records").waitFor();
        const boxes = page.getByRole("checkbox", { name: /^Select / });
        await boxes.first().check();
        await page.getByText("1 record selected").waitFor();
        await page.getByLabel("All on this page").check();
        await page.getByText("50 records selected").waitFor();
        await page.getByRole("button", { name: "Select all 60 records of this reason" }).click();
        await page.getByText("60 records selected").waitFor();
        assert.deepEqual(await violationsOf(page), []);
        // Another operator is quicker with one of them.
        const other = await logInAsNew(service(), "quicker");
        await other.change("quarantine/release", { records: [`${requestId}/3`] });
        await until(async () => {
          const { state } = await other.read<QuarantineAnswer>(`quarantine/${requestId}/3`);
          return state === "released";
        }, 20_000);
        const discard = async () => {
          await page.getByRole("button", { name: "Discard…" }).click();
          await page.getByRole("heading", { name: "Discard 60 records?" }).waitFor();
          assert.deepEqual(await violationsOf(page), []);
          await page.getByLabel("Reason").last().fill("sent twice");
          await page.getByRole("button", { name: "Discard 60 records" }).click();
        };
        // Whether a call without an answer has decided is not known.
        await page.route(/quarantine\/discard/, (route) => route.abort(), { times: 1 });
        await discard();
        await page.getByText("0 of 60 records discarded, 25 of unknown outcome, 35 not tried.").waitFor();
        complaints.splice(0);
        await page.getByRole("button", { name: "Close" }).click();
        await discard();
        await page.getByText("59 of 60 records discarded, 1 failed.").waitFor();
        const failed = page.getByRole("dialog").getByRole("row").last();
        assert.match(await failed.innerText(), /This record was already released/);
        assert.deepEqual(await violationsOf(page), []);
        await page.getByRole("button", { name: "Close" }).click();
        await page.getByText("No record that matches is quarantined").waitFor();
        const { records } = await other.read<RequestAnswer>(
          `requests/${requestId}?outcome=discarded&limit=100`,
        );
        assert.equal(records.length, keys.length - 1);
        await visit(page, "/audit");
        await page.getByText(/discarded 59 quarantined records of ACME \/ BULK01: “sent twice”/).waitFor();
      },
    );

    inWindow(
      "sees what a release would change, leaf by leaf, and then finds it in the history",
      async (page) => {
        const requestId = await quarantineChange(service());
        await visit(page, `/quarantine/${requestId}/1`);
        await page.getByText("It replaces the current version").waitFor();
        await page
          .getByText(/Later changes by the sender become current only if their source time is after/)
          .waitFor();
        const changed = async () => (await page.locator(".changes > div").allInnerTexts()).map(oneLine);
        const before = await changed();
        assert.ok(before.includes("status CONFIRMED → CHECKED IN"), before.join("; "));
        assert.match(before.at(-1) ?? "", /^(correlationId a-1 → a-2|lastModifiedDateTime )/);
        assert.ok(!before.join().includes("{"), "no JSON");
        assert.deepEqual(await violationsInEachLook(page), []);
        await page.getByRole("button", { name: "Release…" }).click();
        await page.getByRole("button", { name: "Release", exact: true }).click();
        await page.getByText("Released: applied verbatim").waitFor();
        assert.equal(await page.getByText("What a release does").count(), 0);
        await visit(page, "/history?clientCode=ACME&propertyCode=BULK02&resource=reservations&key=R-MOVED");
        await page.getByText("First known version.").waitFor();
        const after = await changed();
        assert.ok(after.includes("status CONFIRMED → CHECKED IN"), after.join("; "));
        assert.match(after.at(-1) ?? "", /^correlationId a-1 → a-2/);
      },
    );

    inWindow("reads who, how long and which night in words, on the pages of partners", async (page) => {
      await visit(page, `/backfills/${hotel().backfillId}`);
      await page.getByRole("link", { name: "Partner", exact: true }).waitFor();
      await page.getByText("88 of 91").waitFor();
      const night = new Date(`${hotel().missingNights[0]}T00:00:00Z`);
      const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" }).format(night);
      await page
        .getByRole("rowheader", { name: RegExp(`^${weekday} ${night.getUTCDate()} `) })
        .first()
        .waitFor();
      await visit(page, `/webhooks/${hotel().endpointId}`);
      await page.getByRole("cell", { name: "15 s", exact: true }).waitFor();
      await page.getByText("Night audit", { exact: true }).waitFor();
      await visit(page, "/webhooks");
      await page.getByRole("button", { name: "New endpoint…" }).click();
      await page.getByRole("dialog").getByLabel("Client", { exact: true }).selectOption({ index: 1 });
      assert.deepEqual(await violationsOf(page), []);
    });

    inWindow("rotates a secret: it works, and is shown this once", async (page) => {
      const { clientId } = await service().newClient({ name: "Rotated" });
      await visit(page, `/clients/${clientId}`);
      await page.getByRole("button", { name: "Rotate the secret…" }).click();
      await page.getByRole("button", { name: "Create a new secret" }).click();
      const secret = await page.getByTestId("secret").innerText();
      const answer = await fetch(new URL("/api/oauth2/token", service().address), {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_id: clientId,
          client_secret: secret,
        }),
      });
      assert.equal(answer.status, 200, await answer.text());
      await page.getByRole("button", { name: "I have kept it" }).click();
      await visit(page, `/clients/${clientId}`);
      assert.equal((await page.content()).includes(secret), false);
    });

    inWindow("creates a client, and grants and revokes it", async (page) => {
      await visit(page, "/clients/new");
      await page.getByLabel("Name").fill("Seaside CRS");
      await page.getByLabel("Hotels it may push and read").fill("SEASIDE/*");
      await page.getByRole("button", { name: "Create the client" }).click();
      const clientId = await page.getByTestId("client id").innerText();
      await page.getByRole("button", { name: "I have kept it" }).click();
      await page.getByRole("heading", { name: "Seaside CRS" }).waitFor();
      await page.getByRole("button", { name: "Revoke…" }).click();
      await page.getByLabel("Type the client id to confirm").fill(clientId);
      await page.getByRole("button", { name: "Revoke for good" }).click();
      await page.getByText("Revoked for good").waitFor();
    });

    inWindow(
      "saves what was edited, and restores nothing that was changed elsewhere while the dialog was open",
      async (page, complaints) => {
        const other = await logInAsNew(service(), "meanwhile");
        await addOperator(service(), "carl");
        await visit(page, "/operators");
        await page.getByRole("button", { name: "carl" }).click();
        await other.change("operators/carl/set", { role: "viewer" });
        await page.getByLabel("Properties").fill("ACME/*");
        await page.getByRole("button", { name: "Save" }).click();
        const carl = page.getByRole("row", { name: /carl/ });
        await carl.getByText("ACME/*").waitFor();
        assert.match(await carl.innerText(), /viewer/);
        await page.getByRole("button", { name: "carl" }).click();
        await other.change("operators/carl/set", { grants: ["ACME/LIS01"] });
        await page.getByLabel("Properties").fill("ACME/*\nSEASIDE/*");
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByText("Someone else changed this (grants) after you opened the form").waitFor();
        complaints.splice(0);
        await page.getByRole("button", { name: "Cancel" }).click();
        await carl.getByText("ACME/LIS01").waitFor();
        const { clientId } = await service().newClient({ name: "Narrowed" });
        await visit(page, `/clients/${clientId}`);
        await page.getByRole("button", { name: "Edit…" }).click();
        await other.change(`clients/${clientId}/update`, { scopes: ["reservations:write"] });
        await page.getByLabel("Name").fill("Narrow");
        await page.getByLabel("Burst of tokens").fill("1001");
        const dialog = page.getByRole("dialog");
        const save = () => dialog.getByRole("button", { name: "Save" }).click();
        await save();
        // Every answer is read again after the refusal.
        await dialog.getByText("The token burst must be a whole number from 1 to 1000.").waitFor();
        await page.getByText("reservations:write", { exact: true }).first().waitFor();
        complaints.splice(0);
        await page.getByLabel("Burst of tokens").fill("");
        await save();
        await page.getByRole("heading", { name: "Narrow", exact: true }).waitFor();
        const { scopes } = await other.read<ClientAnswer>(`clients/${clientId}`);
        assert.deepEqual(scopes, ["reservations:write"]);
      },
    );

    inWindow("sees what a certification failed on, and starts and finishes one", async (page) => {
      await visit(page, "/certifications");
      await page.getByText("1 failed").waitFor();
      await page.getByRole("link", { name: "Riverside PMS" }).click();
      const failed = page.locator("tr", { hasText: "A cancelled reservation" });
      await failed.getByText("R-CERTIFIED is cancelled and has no cancellationDateTime").waitFor();
      const opened = page.locator(".opened-row");
      await opened.getByRole("link", { name: /^request / }).waitFor();
      const help = await opened.getByRole("link", { name: /^Documentation/ }).getAttribute("href");
      assert.equal(help, "/docs/guides/cancellations#what-to-send");
      const download = page.waitForEvent("download");
      await page.getByRole("link", { name: "Download report" }).click();
      assert.match(await readFile((await (await download).path()) ?? "", "utf8"), /no cancellationDateTime/);
      const since = page.getByLabel("Only requests since");
      await since.fill("2100-01-01T00:00");
      await page.getByText("0 of 15").waitFor();
      // An answer that is on its way takes away neither the one before nor a dialog.
      const answered = Promise.withResolvers<void>();
      await page.route(/since=2101/, (route) => answered.promise.then(() => route.continue()));
      const asked = page.waitForRequest(/since=2101/);
      await since.fill("2101-01-01T00:00");
      await asked;
      assert.ok(await page.getByRole("button", { name: "Finish…" }).isVisible());
      answered.resolve();
      await page.getByRole("button", { name: "Finish…" }).click();
      await page.getByRole("button", { name: "Finish", exact: true }).click();
      await page.getByText("The certification has ended.").waitFor();
      await visit(page, "/certifications?state=open");
      await page.getByText("No certification matches").waitFor();
      await page.getByRole("button", { name: "Start…" }).click();
      assert.deepEqual(await violationsOf(page), []);
      const client = page.getByRole("dialog").getByLabel("Client", { exact: true });
      const named = client.locator("option", { hasText: "Riverside PMS" });
      await client.selectOption(await named.getAttribute("value"));
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.getByRole("heading", { name: "Certification of Riverside PMS" }).waitFor();
      await page.getByText("0 of 15").waitFor();
    });

    inWindow("says what an unmapped label means, and takes it back", async (page) => {
      await visit(page, "/settings?clientCode=ACME");
      const row = page.getByRole("row", { name: /WALK IN/ });
      await row.getByText("unmapped").waitFor();
      await row.getByText("Yes", { exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Map WALK IN as counted on the books?" });
      await dialog.getByText(/2 reservations of 1 property, on 3 nights/).waitFor();
      assert.deepEqual(await violationsOf(page), []);
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await row.getByText("unmapped").waitFor();
      await row.getByText("Yes", { exact: true }).click();
      await dialog.getByRole("button", { name: "Map" }).click();
      await row.getByText("mapping").waitFor();
      assert.deepEqual(await violationsOf(page), []);
      await page.getByRole("button", { name: "Undo" }).click();
      await row.getByText("unmapped").waitFor();
      await row.getByText("No", { exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Map" }).click();
      await row.getByRole("button", { name: "Reset" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
      await row.getByText("unmapped").waitFor();
      await page.getByRole("button", { name: "Undo" }).click();
      await row.getByText("mapping").waitFor();
      const { rows } = await service().pool.query<{ what: string }>(
        "select what from bellhop.audit_entry where detail->>'status' = 'WALK IN' order by audit_id",
      );
      const whats = rows.map(({ what }) => what);
      assert.deepEqual(whats, ["map-status", "unmap-status", "map-status", "unmap-status", "map-status"]);
    });

    inWindow("goes about by keys alone", async (page) => {
      await visit(page, "/");
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate("document.activeElement?.textContent"), "Skip to the content");
      await page.keyboard.press("Enter");
      await page.keyboard.type("gr");
      await page.getByRole("heading", { name: "Requests" }).waitFor();
      assert.equal(await page.evaluate("document.activeElement?.tagName"), "H1");
      await settled(page);
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: /^Request [0-9a-f]{8}/ }).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });

    inWindow(
      "turns the pages of a list, and finds the way back after a reload, not behind a link",
      async (page) => {
        const begins = (place: number) =>
          page
            .locator("main tbody tr:first-child td:nth-child(2)", { hasText: RegExp(`^${place}$`) })
            .waitFor();
        const focused = () =>
          page.evaluate("document.activeElement?.value ?? document.activeElement?.textContent");
        await visit(page, "/requests?resource=reservations");
        const ofMany = page
          .getByRole("row")
          .filter({ has: page.getByRole("cell", { name: "400", exact: true }) });
        await ofMany.first().getByRole("link").first().click();
        await page.getByText("All", { exact: true }).click();
        await begins(0);
        assert.equal(await focused(), "on", "a filter keeps the focus while its records are on their way");
        await page.getByRole("link", { name: "Next page" }).click();
        await begins(100);
        assert.equal(await focused(), "Records", "it begins at its head");
        await page.keyboard.press("n");
        await begins(200);
        assert.match(await page.title(), /, page 3 ·/);
        const address = page.url();
        await page.reload();
        await page.getByRole("link", { name: "Previous page" }).click();
        await begins(100);
        await page.keyboard.press("p");
        await begins(0);
        assert.deepEqual(await page.locator(".turns a").allInnerTexts(), ["Next page"]);
        await page.goto(address);
        await begins(200);
        assert.deepEqual(await page.locator(".turns a").allInnerTexts(), ["First page", "Next page"]);
        await page.getByRole("link", { name: "First page" }).click();
        await begins(0);
      },
    );

    inWindow("saves what is shown as CSV", async (page) => {
      for (const [path, row] of [
        ["/requests", /^requestId,receivedAt,.*\r\n[0-9a-f]{8}-/],
        [
          "/backfills",
          /^backfillId,.*\r\n[0-9a-f-]{36},.*,ACME,PARIS01,open,.*,"its first year, again"\r\n$/,
        ],
        [
          "/webhooks",
          /^endpointId,.*\r\n[0-9a-f-]{36},webhook,https:\/\/partner\.invalid\/bellhop,Night audit,/,
        ],
        [`/webhooks/${hotel().endpointId}`, /^attemptedAt,.*\r\n(.*\r\n){3}$/],
        ["/operators", /^name,role,grants,.*\r\nanna,admin,\*\/\*,/],
        [
          "/settings?clientCode=ACME",
          /^status,resource,records,canonical,by,deducts\r\n(.*\r\n)*[^,]+,reservations,\d+,[^,]+,default,yes\r\n/,
        ],
        [
          `/certifications/${hotel().certificationId}`,
          /^step,title,result,reason,requestIds,instruction,docs\r\n(.+,(pass|fail|not-yet),.*\r\n)+$/,
        ],
        ["/intake", /^begin,inventories,reservations,groups\r\n(.*\r\n){60}$/],
      ] as const) {
        await visit(page, path);
        const download = page.waitForEvent("download");
        await page.getByRole("button", { name: "Download CSV" }).click();
        const text = await readFile((await (await download).path()) ?? "", "utf8");
        assert.equal(text[0], "\ufeff", "a byte order mark");
        assert.match(text.slice(1), row);
      }
    });

    inWindow("saves every page of a list, and every page of an insight from the first one", async (page) => {
      const ask = async <Answer>(question: string) =>
        (await (
          await page.request.get(`${new URL(page.url()).origin}/console/api/${question}`)
        ).json()) as Answer;
      const save = async (button: string) => {
        const download = page.waitForEvent("download");
        await page.getByRole("button", { name: button }).click();
        return await readFile((await (await download).path()) ?? "");
      };
      const columnOf = async (column: number) =>
        String(await save("Download CSV"))
          .trimEnd()
          .split("\r\n")
          .slice(1)
          .map((row) => row.split(",")[column]);
      const rowsOfParquet = async () => {
        const { buffer, byteOffset, length } = await save("Download Parquet");
        return await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + length) });
      };
      // As where there are more than a thousand.
      await page.route(/api\/requests\?/, (route) =>
        route.continue({ url: route.request().url().replace("limit=1000", "limit=7") }),
      );
      await visit(page, "/requests?resource=reservations");
      const { items } = await ask<{ items: { requestId: string }[] }>(
        "requests?resource=reservations&limit=500",
      );
      assert.ok(items.length > 14);
      assert.deepEqual(
        await columnOf(0),
        items.map(({ requestId }) => requestId),
      );
      assert.deepEqual(
        (await rowsOfParquet()).map(({ requestId }) => requestId),
        items.map(({ requestId }) => requestId),
      );
      await page.route(/insight\/on-the-books\?/, (route) =>
        route.continue({ url: route.request().url().replace("limit=1000", "limit=20") }),
      );
      await visit(page, `/property/on-the-books?clientCode=ACME&propertyCode=PARIS01`);
      await page.getByRole("link", { name: "Next page" }).click();
      await page.getByText(/^Page 2:/).waitFor();
      assert.equal((await columnOf(0))[0], hotel().today);
      const books = await ask<{ items: { roomRevenue: string | null; rooms: number }[] }>(
        `insight/on-the-books?clientCode=ACME&propertyCode=PARIS01&from=${hotel().today}&to=${addDays(hotel().today, 29)}&limit=10000`,
      );
      assert.deepEqual(
        (await rowsOfParquet()).map(({ rooms, roomRevenue }) => [rooms, roomRevenue]),
        books.items.map(({ rooms, roomRevenue }) => [
          rooms,
          roomRevenue === null ? null : Number(roomRevenue),
        ]),
      );
    });
  });
