/**
 * `npm run docs:write`: the parts of documents that are made from the code (fields, codes and statuses of records, the
 * catalogue of errors) are made anew. Tests hold the documents to them.
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
