/**
 * `npm run console:screenshots`: every page of the console as it is for the hotel of the tests, in light, dark and at phone width,
 * into docs/console. Takes some minutes; needs the Chromium of the machine.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { createOperator } from "../../src/auth/operator-admin.ts";
import { startTestService } from "../support/service.ts";
import { openBrowser, openWindow } from "./chromium.ts";
import { fillHotel } from "./hotel.ts";
import { logInByHand, pagesOf, settled } from "./pages.ts";

const OUT = fileURLToPath(new URL("../../docs/console/", import.meta.url));
const PASSWORD = "a long enough password";
/** Small enough to be kept with the sources, and text is still sharp. */
const QUALITY = 0.72;
const LOOKS: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 860 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 860 } }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
];

const browser = await openBrowser();
const service = await startTestService();
await createOperator({ pool: service.pool, who: "cli:screenshots" }, "anna", PASSWORD);
const hotel = await fillHotel(service);
await mkdir(OUT, { recursive: true });
for (const [look, options] of LOOKS) {
  const { context, page } = await openWindow(browser, options);
  await page.goto(`${service.address}/console/`);
  await keep(browser, `log-in-${look}`, await page.screenshot({ animations: "disabled" }));
  await logInByHand(page, "anna", PASSWORD);
  await page.getByRole("heading", { name: "Live intake" }).waitFor();
  for (const [name, path] of pagesOf(hotel, service.client.clientId)) {
    await page.goto(`${service.address}/console${path}`);
    await settled(page);
    await keep(browser, `${name}-${look}`, await page.screenshot({ animations: "disabled" }));
  }
  await context.close();
}
await browser.close();
await service.stop();

/** Chromium itself makes the picture small: it writes WebP, which its screenshots are not. */
async function keep(by: Browser, name: string, png: Buffer): Promise<void> {
  const page = await by.newPage();
  const written = await page.evaluate<string>(`(async () => {
    const blob = await (await fetch("data:image/png;base64,${png.toString("base64")}")).blob();
    const bitmap = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    const small = await canvas.convertToBlob({ type: "image/webp", quality: ${QUALITY} });
    return new Uint8Array(await small.arrayBuffer()).toBase64();
  })()`);
  await page.close();
  await writeFile(join(OUT, `${name}.webp`), Buffer.from(written, "base64"));
  console.log(name);
}
