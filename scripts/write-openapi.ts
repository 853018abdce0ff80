/**
 * `npm run openapi:write` writes docs/openapi.json: the OpenAPI document with every setting at its default and relative
 * addresses. `npm run check:openapi` fails, with the difference, when the committed file is another, and lints it.
 */
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readConfig } from "../src/config.ts";
import { buildOpenApiDocument } from "../src/http/openapi/document.ts";

const path = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));
const fresh = `${JSON.stringify(buildOpenApiDocument(readConfig({})), null, 2)}\n`;
if (!process.argv.includes("--check")) await writeFile(path, fresh);
else if (fresh !== (await readFile(path, "utf8").catch(() => ""))) {
  spawnSync("diff", ["-u", "--label", "docs/openapi.json", path, "--label", "what the code says", "-"], {
    input: fresh,
    stdio: ["pipe", "inherit", "inherit"],
  });
  console.error(
    "\nThe committed document is not what the code says: npm run openapi:write, and look at the difference.",
  );
  process.exitCode = 1;
}
