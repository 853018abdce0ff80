/**
 * Loads the modules of the service, its threads and the commands, so that Node keeps them stripped of types and compiled in
 * NODE_COMPILE_CACHE. Otherwise each thread of the first start (in an image, whose tree cannot be written, of every start) loads Node's
 * TypeScript compiler and keeps it: 19 MB each.
 */
import { once } from "node:events";
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread, Worker } from "node:worker_threads";
import fastify from "fastify";

const sources = new URL("../src/", import.meta.url);
const load = (entry) => import(new URL(entry, sources).href);

await load("service/serve-http.ts");
// Loads its validator.
await fastify().ready();
if (isMainThread) {
  const commands = globSync("*/cli{,/*}.ts", {
    cwd: fileURLToPath(sources),
    exclude: ["**/*.test.ts"],
  });
  for (const entry of ["cli/parse-line.ts", "cli/session.ts", "cli/failure-text.ts", ...commands])
    await load(entry);
  await load("service/service.ts");
  // Threads have other flags of V8, which are part of the cache's key.
  (await load("service/service-thread.ts")).letHeapsGrow();
  const log = { to: "main thread", level: "silent" };
  await once(
    new Worker(new URL(import.meta.url), { workerData: { kind: "apply", name: "warm", log } }),
    "exit",
  );
  process.argv.splice(1, Number.POSITIVE_INFINITY, fileURLToPath(new URL("main.ts", sources)), "--help");
  await load("main.ts");
} else {
  await load("service/http-thread.ts");
  await load("service/thread-entry.ts");
  process.exit();
}
