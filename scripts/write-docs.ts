/**
 * `npm run docs:write`: regenerates the parts of documents that come from code (fields, codes and statuses of records,
 * the error catalogue).
 */
import { readFile, writeFile } from "node:fs/promises";
import { readConfig } from "../src/config.ts";
import { buildOpenApiDocument } from "../src/openapi/document.ts";
import { errorSections, withSections } from "../test/support/errors-document.ts";
import { writeGenerated } from "../test/support/records-document.ts";

const sections = errorSections(buildOpenApiDocument(readConfig({})));
for (const name of ["records.md", "contract.md", "errors.md"]) {
  const url = new URL(`../docs/${name}`, import.meta.url);
  const document = await readFile(url, "utf8");
  const written = withSections(writeGenerated(document), sections);
  if (written === document) continue;
  await writeFile(url, written);
  console.log(`wrote docs/${name}`);
}
