/**
 * Loads what the service and its threads are made of, so that Node keeps it stripped of types and compiled in
 * NODE_COMPILE_CACHE: for an image, whose tree cannot be written once it runs.
 */
import { flushCompileCache } from "node:module";

for (const entry of [
  "cli/run-command.ts",
  "service.ts",
  "threads/serve-http.ts",
  "threads/apply-thread.ts",
  "threads/http-thread.ts",
])
  await import(new URL(`../src/${entry}`, import.meta.url).href);
flushCompileCache();
process.exit(0);
