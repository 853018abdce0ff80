/**
 * `npm run generate -- screenshots`: writes every page of the console, with the test hotel and four neighbours, in light,
 * dark and at phone width, to docs/console. Takes minutes; needs Chromium.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { createOperator } from "../../src/identity/operators.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { startOpenIdProvider } from "../support/openid-provider.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { openBrowser, openWindow, PHONE } from "./chromium.ts";
import { fillHotel, fillNeighbours, type Hotel } from "./hotel.ts";
import { logInByHand, pagesOf, settled } from "./pages.ts";

const OUT = fileURLToPath(new URL("../../docs/console/", import.meta.url));
const PASSWORD = "a long enough password";
/** Small enough to be kept with the sources, and text is still sharp. */
const QUALITY = 0.6;
const LOOKS: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 860 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 860 } }],
  ["phone", { colorScheme: "light", viewport: PHONE }],
];

const browser = await openBrowser();
const provider = await startOpenIdProvider({});
let service: TestService | undefined;
try {
  service = await startTestService({ singleSignOn: provider.settings });
  await createOperators(service);
  const hotel = await fillHotel(service);
  await fillNeighbours(service, hotel);
  await refreshFigures(service.pool);
  await mkdir(OUT, { recursive: true });
  const encoder = await browser.newPage();
  for (const [look, options] of LOOKS) await takeLook(look, options, service, hotel, encoder);
} finally {
  await browser.close();
  await service?.stop();
  provider.stop();
}

/** `anna`, who takes the pictures, and one of each way to log in. */
async function createOperators({ pool }: TestService): Promise<void> {
  const admin = { pool, who: "cli:screenshots" };
  await createOperator(admin, "anna", PASSWORD, {});
  await createOperator(admin, "berta", PASSWORD, { role: "revenue", grants: ["ACME/*", "SEASIDE/LON01"] });
  await createOperator(admin, "carl", undefined, {
    role: "viewer",
    grants: ["ACME/PARIS01"],
    email: "carl@hotel.example",
  });
  await pool.query(
    "update bellhop.operator set totp_since = now(), encrypted_totp_secret = 'plain:', totp_step = 0 where name = 'berta'",
  );
}

async function takeLook(
  look: string,
  options: BrowserContextOptions,
  { address, client }: TestService,
  hotel: Hotel,
  encoder: Page,
): Promise<void> {
  const { context, page } = await openWindow(browser, options);
  const keep = async (name: string) => {
    const png = await page.screenshot({ animations: "disabled" });
    await writeFile(join(OUT, `${name}-${look}.webp`), await toWebp(encoder, png));
    console.log(`${name}-${look}`);
  };
  await page.goto(`${address}/console/`);
  await keep("log-in");
  await logInByHand(page, "berta", PASSWORD);
  await page.getByLabel("Code of your authenticator app").waitFor();
  await keep("log-in-code");
  await page.reload();
  const hasStates = look === "light";
  if (hasStates) {
    await logInByHand(page, "anna", "not this one");
    await page.getByRole("alert").waitFor();
    await keep("log-in-refused");
  }
  await logInByHand(page, "anna", PASSWORD);
  await page.getByRole("heading", { name: "Portfolio" }).waitFor();
  const pages = [...pagesOf(hotel, client.clientId), ...comparisonsOf(hotel)];
  for (const [name, path] of [...pages, ...(hasStates ? statesOf(hotel) : [])]) {
    await page.goto(`${address}/console${path}`);
    await settled(page);
    await keep(name);
  }
  await page.goto(`${address}/console/`);
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await keep("search");
  await page.goto(`${address}/console/account`);
  await page.getByLabel("Your password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set up an app" }).click();
  await page.getByRole("img", { name: "QR code of the key" }).scrollIntoViewIfNeeded();
  await keep("account-codes");
  await page.goto(`${address}/console/operators`);
  for (const name of ["berta", "carl"]) {
    await page.getByRole("button", { name }).click();
    await page.getByRole("dialog", { name }).waitFor();
    await keep(`operator-${name}`);
    await page.keyboard.press("Escape");
  }
  if (hasStates) {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await keep("keyboard");
  }
  await context.close();
}

/** Reports with two sides. */
function comparisonsOf({
  clientCode,
  propertyCode,
}: Hotel): readonly (readonly [name: string, path: string])[] {
  const report = `/property/report?${new URLSearchParams({ clientCode, propertyCode })}`;
  return [
    ["two-hotels", `${report}&beside=${clientCode}%2FLYON01`],
    ["two-years", `${report}&beside=lastYear&sum=week`],
    ["hotels-of-two-years", "/report?sum=property&beside=lastYear"],
  ];
}

/** What is there where nothing is, or where something is wrong; and revenue in charts. */
function statesOf({ clientCode, propertyCode }: Hotel): readonly (readonly [name: string, path: string])[] {
  const codes = new URLSearchParams({ clientCode, propertyCode }).toString();
  return [
    ["revenue", `/property/on-the-books?${codes}&show=revenue`],
    ["pickup-revenue", `/property/pickup?${codes}&show=revenue`],
    ["nothing-found", "/requests?clientCode=NOBODY&propertyCode=NOWHERE"],
    ["not-there", "/requests/01a20402-7dbc-7416-abb3-bb1ec9b8778c"],
    ["wrong-address", "/property/revenue"],
  ];
}

/** Chromium itself makes the picture small: it writes WebP, which its screenshots are not. */
async function toWebp(encoder: Page, png: Buffer): Promise<Buffer> {
  const written = await encoder.evaluate<string>(`(async () => {
    const blob = await (await fetch("data:image/png;base64,${png.toString("base64")}")).blob();
    const bitmap = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    const small = await canvas.convertToBlob({ type: "image/webp", quality: ${QUALITY} });
    return new Uint8Array(await small.arrayBuffer()).toBase64();
  })()`);
  return Buffer.from(written, "base64");
}
