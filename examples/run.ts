/**
 * `npm run example -- examples/guides/inventory.mjs …` runs programs of this directory in a checkout, with `@bellhop/client` resolved to its
 * source. Several programs run one after another in one process, each after a line `=== file`.
 */
import "./client-by-name.ts";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const files = process.argv.slice(2).filter((argument) => /\.m?[jt]s$/.test(argument));
if (files.length === 0) {
  console.error("Which program? npm run example -- examples/guides/quickstart.mjs");
  process.exitCode = 2;
}
for (const file of files) {
  if (files.length > 1) console.log(`=== ${file}`);
  await import(pathToFileURL(resolve(file)).href);
}
