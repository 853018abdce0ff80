/** `npm run check [-- NAME …]`: runs these checks, or all, even after a failure. `--list` prints their names. */
import { runShell } from "./run-shell.ts";

const dev = (script: string) => `node bin/launch.mjs --dev scripts/${script}`;

/** Each holds for every commit. Files that are generated are compared with what `npm run generate` would write. */
const CHECKS: Readonly<Record<string, string>> = {
  types:
    "node bin/build-packages.mjs && tsc --noEmit && tsc --noEmit -p packages/console && tsc --noEmit -p packages/docs && tsc --noEmit -p packages/client",
  lint: "biome ci",
  layers:
    "depcruise src packages/client/src packages/console/src packages/contract/src packages/simulator/src",
  dead: "knip",
  language: dev("check-language.ts"),
  binaries: dev("check-binaries.ts"),
  patterns: dev("check-patterns.ts"),
  audit: dev("audit-dependencies.ts"),
  openapi: `${dev("write-openapi.ts --check")} && spectral lint docs/openapi.json --fail-severity hint && redocly lint docs/openapi.json docs/openapi.codegen.json`,
  collections: dev("write-collections.ts --check"),
  golden: dev("write-golden.ts --check"),
  client: dev("check-client.ts"),
  migrations: dev("check-migrations.ts"),
  schema: dev("dump-schema.ts --check"),
};

const wanted = process.argv.slice(2);
const named = wanted.filter((one) => !one.startsWith("--"));
const options = wanted.filter((one) => one.startsWith("--"));
const names = named.length === 0 ? Object.keys(CHECKS) : named;
const unknown = names.find((name) => !Object.hasOwn(CHECKS, name));
// A check's own options, such as those of audit, follow its name.
if (unknown !== undefined || (options.length > 0 && named.length !== 1)) {
  console.log(`npm run check [-- NAME …], of ${Object.keys(CHECKS).join(", ")}`);
  process.exit(wanted.includes("--list") ? 0 : 2);
}

const failed: string[] = [];
for (const name of names) {
  const startedAt = Date.now();
  console.log(`\n> ${name}`);
  const holds = runShell([CHECKS[name], ...options].join(" "));
  console.log(`${name} ${holds ? "holds" : "FAILED"} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (!holds) failed.push(name);
}
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
