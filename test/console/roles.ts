import assert from "node:assert/strict";
import { describe } from "node:test";
import { Secret, TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { createOperator } from "../../src/identity/operators.ts";
import { ROLES, type Role } from "../../src/identity/roles.ts";
import { addOperator, PASSWORD } from "../support/console-session.ts";
import { violationsOf } from "./axe.ts";
import { ACCOUNTS, type ConsoleFixture } from "./console-fixture.ts";
import { logInByHand, pagesOf, settled } from "./pages.ts";

const PLACES: Readonly<Record<Role, readonly string[]>> = {
  viewer: [
    "Portfolio",
    "Daily report",
    "Reports and alerts",
    "Ingestion",
    "Requests",
    "Quarantine",
    "Backfills",
    "Certification",
    "Settings",
  ],
  revenue: [
    "Portfolio",
    "Daily report",
    "Reports and alerts",
    "Ingestion",
    "Requests",
    "Quarantine",
    "Backfills",
    "Certification",
    "Settings",
  ],
  operator: [
    "Portfolio",
    "Daily report",
    "Reports and alerts",
    "Ingestion",
    "Requests",
    "Quarantine",
    "Clients",
    "Webhooks",
    "Backfills",
    "Certification",
    "Settings",
  ],
  admin: [
    "Portfolio",
    "Daily report",
    "Reports and alerts",
    "Ingestion",
    "Requests",
    "Quarantine",
    "Clients",
    "Webhooks",
    "Backfills",
    "Certification",
    "Operators",
    "Settings",
    "Audit",
  ],
};

/** The buttons, links and boxes by which something is changed, on each page where there is one, and who has them. */
const ACTIONS: readonly (readonly [page: string, action: RegExp, ...roles: Role[]])[] = [
  ["quarantine", /^(All|Select .*)$/, "operator", "admin"],
  ["quarantined-record", /^(Release|Discard)…$/, "operator", "admin"],
  ["backfill", /^Abandon…$/, "operator", "admin"],
  ["certifications", /^Start…$/, "operator", "admin"],
  ["certification", /^Finish…$/, "operator", "admin"],
  ["settings", /^(Change .*|Reset)$/, "revenue", "operator", "admin"],
  ["client", /^(Edit|Rotate the secret|Revoke|Revoke now|Add grants)…$|^Remove .*$/, "admin"],
  ["clients", /^New client$/, "admin"],
];

async function logInAs(page: Page, address: string, name: string): Promise<void> {
  await page.goto(`${address}/console/`);
  await logInByHand(page, name, PASSWORD);
  await page.getByRole("heading", { name: "Portfolio" }).waitFor();
}

export const describeRoles = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("who may log in to the console", () => {
    for (const role of ROLES)
      inWindow(
        `a ${role} sees the pages and the actions of the role, and no others`,
        async (page, complaints) => {
          await addOperator(service(), `only-${role}`, { role, grants: ["*/*"] });
          await logInAs(page, service().address, `only-${role}`);
          const places = await page
            .getByRole("navigation", { name: "Console" })
            .locator("[data-place]")
            .allInnerTexts();
          assert.deepEqual(places, PLACES[role]);
          const paths = new Map(pagesOf(hotel(), service().client.clientId));
          for (const [name, action, ...roles] of ACTIONS) {
            await visit(page, paths.get(name) ?? "");
            const named = page
              .getByRole("button", { name: action })
              .or(page.getByRole("link", { name: action }))
              .or(page.getByRole("checkbox", { name: action }));
            assert.equal((await named.count()) > 0, roles.includes(role), `${role}: ${name}`);
          }
          // The client and the clients are refused to those who have no such page.
          complaints.splice(0, PLACES[role].includes("Clients") ? 0 : complaints.length);
        },
        { loggedOut: true },
      );

    inWindow(
      "an admin creates an operator with a role and properties, who logs in with the password",
      async (page) => {
        await addOperator(service(), "boss");
        await logInAs(page, service().address, "boss");
        await visit(page, "/operators");
        await page.getByRole("button", { name: "New operator" }).click();
        assert.deepEqual(await violationsOf(page), []);
        await page.getByLabel("Name").fill("berta");
        await page.getByLabel("Role").selectOption("revenue");
        await page.getByLabel("Properties").fill("ACME/*");
        await page.getByRole("button", { name: "Create the operator" }).click();
        const first = await page.getByTestId("secret").innerText();
        await page.getByRole("button", { name: "I have kept it" }).click();
        await page.getByRole("row", { name: /berta/ }).getByText("ACME/*").waitFor();
        await page.getByRole("button", { name: "berta" }).click();
        await page.getByRole("button", { name: "New password…" }).click();
        await page.getByRole("dialog", { name: "New password for berta?" }).waitFor();
        assert.deepEqual(await violationsOf(page), []);
        await page.getByRole("button", { name: "Create a password" }).click();
        const password = await page.getByTestId("secret").innerText();
        assert.notEqual(password, first);
        await page.getByRole("button", { name: "I have kept it" }).click();
        await visit(page, "/");
        await page.getByRole("button", { name: "Log out" }).click();
        await logInByHand(page, "berta", password);
        await page.getByRole("heading", { name: "Portfolio" }).waitFor();
        await visit(page, "/account");
        await page.getByText("You are logged in as berta: revenue of ACME/*.").waitFor();
      },
      { loggedOut: true },
    );

    inWindow(
      "an operator turns on codes of an app, and logs in with one",
      async (page, complaints) => {
        await addOperator(service(), "clara", { role: "viewer", grants: ["ACME/*"] });
        await logInAs(page, service().address, "clara");
        await visit(page, "/account");
        await page.getByLabel("Your password").fill(PASSWORD);
        await page.getByRole("button", { name: "Set up an app" }).click();
        await page.getByRole("img", { name: "QR code of the key" }).waitFor();
        assert.deepEqual(await violationsOf(page), []);
        const secret = Secret.fromBase32(await page.getByTestId("key").innerText());
        const codeOf = (steps: number) =>
          new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 });
        // A code is good once: the one before this turns codes on, so that this one logs in.
        await page.getByLabel("Code", { exact: true }).fill(codeOf(-1));
        await page.getByRole("button", { name: "Turn codes on" }).click();
        const recovery = await page.getByTestId("recovery codes").innerText();
        assert.equal(recovery.trim().split("\n").length, 10);
        assert.deepEqual(await violationsOf(page), []);
        await page.getByRole("button", { name: "I have kept them" }).click();
        await page.getByRole("button", { name: "Turn codes off" }).waitFor();
        await page.getByRole("button", { name: "Log out" }).click();
        await logInByHand(page, "clara", PASSWORD);
        await page.getByLabel("Code of your authenticator app").fill("000000");
        await page.getByRole("button", { name: "Log in", exact: true }).click();
        await page.getByText("A code is good once").waitFor();
        assert.deepEqual(await violationsOf(page), []);
        await page.getByLabel("Code of your authenticator app").fill(codeOf(0));
        await page.getByRole("button", { name: "Log in", exact: true }).click();
        await page.getByRole("heading", { name: "Your account" }).waitFor();
        // The browser notes both 401: a code was asked for, and one was wrong.
        assert.equal(complaints.splice(0).length, 2);
      },
      { loggedOut: true },
    );

    inWindow(
      "an operator logs in at the OpenID Connect provider",
      async (page) => {
        const { email } = ACCOUNTS.dora;
        const rights = { role: "viewer", grants: ["ACME/*"], email } as const;
        await createOperator({ pool: service().pool, who: "cli:test" }, "dora", undefined, rights);
        // The provider's own pages ask for a font from elsewhere.
        await page.route(/^https:/, (route) => route.fulfill({ body: "" }));
        await page.goto(`${service().address}/console/`);
        await page.getByRole("link", { name: /^Log in with 127\.0\.0\.1/ }).click();
        await page.getByPlaceholder("Enter any login").fill("dora");
        await page.getByPlaceholder("and password").fill("any");
        await page.getByRole("button", { name: "Sign-in" }).click();
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByRole("heading", { name: "Portfolio" }).waitFor();
        await visit(page, "/account");
        await page.getByText("You are logged in as dora: viewer of ACME/*.").waitFor();
        await page.getByText("You log in with single sign-on").waitFor();
        await settled(page);
      },
      { loggedOut: true },
    );
  });
