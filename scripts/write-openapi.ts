/**
 * `npm run generate -- openapi` writes docs/openapi.json: the OpenAPI document with every setting at its default and relative
 * addresses; docs/openapi.codegen.json, the same for code generators; test/fixtures/contract-v1.json: what version 1 promises, which is frozen; the client's types and the console's. It refuses
 * to write what would break a promise, also one of a version that is out (test/released). `npm run check -- openapi` fails, with the
 * difference, when a committed file is another, and lints.
 */
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readConfig } from "../src/config.ts";
import { buildOpenApiDocument, describeRelease } from "../src/openapi/document.ts";
import { forGenerators } from "../src/openapi/for-generators.ts";
import { brokenPromises, type Promises, promisesOf } from "../test/support/promises.ts";
import { answerTypes } from "./answer-types.ts";
import { clientTypes, type TypedDocument } from "./client-types.ts";
import { readReleasedOpenApi, readReleases } from "./release/releases.ts";

const config = readConfig({});
const document = buildOpenApiDocument(config);
const promises = promisesOf(document);
const plainOf = (content: unknown) => JSON.parse(JSON.stringify(content)) as TypedDocument;
const asJson = (content: unknown) => `${JSON.stringify(content, null, 2)}\n`;
const files = {
  "docs/openapi.json": asJson(document),
  "docs/openapi.codegen.json": asJson(forGenerators(document)),
  "test/fixtures/contract-v1.json": asJson(promises),
  "packages/client/src/api-types.ts": clientTypes(plainOf(document)),
  "src/console/api-types.ts": answerTypes(plainOf(describeRelease(config))),
};
const checking = process.argv.includes("--check");

const pathOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const committed = (name: string) => readFile(pathOf(name), "utf8").catch(() => undefined);

/** All broken promises, by version. */
async function broken(): Promise<string[]> {
  const frozen = await committed("test/fixtures/contract-v1.json");
  const ofContract = frozen === undefined ? [] : brokenPromises(JSON.parse(frozen) as Promises, promises);
  const ofReleases = (await readReleases()).map(async ({ version }) => {
    const document = await readReleasedOpenApi(version);
    return brokenPromises(promisesOf(document), promises).map((one) => `version ${version}: ${one}`);
  });
  return [...ofContract, ...(await Promise.all(ofReleases)).flat()];
}

const breaks = await broken();
if (breaks.length > 0) {
  console.error(`What is promised is frozen (docs/versioning.md), and this breaks it:`);
  console.error(breaks.map((one) => `  ${one}`).join("\n"));
  process.exitCode = 1;
} else {
  for (const [name, fresh] of Object.entries(files)) await writeOrCompare(name, fresh);
}

async function writeOrCompare(name: string, fresh: string): Promise<void> {
  if (fresh === (await committed(name))) return;
  if (!checking) {
    await writeFile(pathOf(name), fresh);
    console.log(`wrote ${name}`);
    return;
  }
  spawnSync("diff", ["-u", "--label", name, pathOf(name), "--label", "what the code says", "-"], {
    input: fresh,
    stdio: ["pipe", "inherit", "inherit"],
  });
  console.error(
    `\n${name} differs from the code: run npm run generate -- openapi and review the difference.`,
  );
  process.exitCode = 1;
}
