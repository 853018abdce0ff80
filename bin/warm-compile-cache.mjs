/**
 * Loads what the service and its threads are made of, so that Node keeps it stripped of types and compiled in
 * NODE_COMPILE_CACHE: for an image, whose tree cannot be written once it runs.
 */
import { globSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

const sources = new URL("../src/", import.meta.url);
for (const entry of [
  "cli.ts",
  "cli/parse-line.ts",
  "cli/session.ts",
  "cli/failure-text.ts",
  ...globSync("*/cli{,/*}.ts", { cwd: fileURLToPath(sources), exclude: ["**/*.test.ts"] }),
  "service/service.ts",
  "service/serve-http.ts",
  "service/apply-thread.ts",
  "service/http-thread.ts",
])
  await import(new URL(entry, sources).href);
flushCompileCache();
process.exit(0);
