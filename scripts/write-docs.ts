/**
 * `npm run generate -- docs`: regenerates the parts of documents that come from code (fields, codes and statuses of records,
 * the error catalogue, the columns of analytics, personal fields).
 */
import { readFile, writeFile } from "node:fs/promises";
import { readConfig } from "../src/config.ts";
import { buildOpenApiDocument } from "../src/openapi/document.ts";
import { errorSections, withSections } from "../test/support/errors-document.ts";
import { writeGenerated } from "../test/support/records-document.ts";
import { withColumns } from "./analytics-document.ts";
import { withPersonalFields } from "./privacy-document.ts";

const sections = errorSections(buildOpenApiDocument(readConfig({})));
const WRITERS: Readonly<Record<string, (document: string) => string>> = {
  "records.md": writeGenerated,
  "contract.md": writeGenerated,
  "errors.md": (document) => withSections(document, sections),
  "analytics.md": withColumns,
  "privacy.md": withPersonalFields,
};
for (const [name, write] of Object.entries(WRITERS)) {
  const url = new URL(`../docs/${name}`, import.meta.url);
  const document = await readFile(url, "utf8");
  const written = write(document);
  if (written === document) continue;
  await writeFile(url, written);
  console.log(`wrote docs/${name}`);
}
