/**
 * `npm run generate [-- NAME …]`: writes the committed files that are made from code; by default those that `npm run check` or a test
 * compares. `--list` prints their names.
 */
import { runShell } from "./run-shell.ts";

interface Generated {
  readonly script: string;
  readonly what: string;
  /** Made only when named: it takes minutes, or needs more than this checkout. */
  readonly isSeldom?: true;
}

const GENERATED: Readonly<Record<string, Generated>> = {
  openapi: {
    script: "scripts/write-openapi.ts",
    what: "docs/openapi.json, docs/openapi.codegen.json, types of the client and the console, the contract's promises",
  },
  collections: {
    script: "scripts/write-collections.ts",
    what: "docs/collections, for Postman and Bruno, from docs/openapi.json",
  },
  docs: { script: "scripts/write-docs.ts", what: "tables of fields, codes and errors in docs/" },
  schema: { script: "scripts/dump-schema.ts", what: "sql/schema.sql" },
  help: { script: "scripts/write-cli-help.ts", what: "test/golden/cli-help.txt" },
  golden: { script: "scripts/write-golden.ts", what: "error codes, metrics and facts in test/golden" },
  "client-api": { script: "scripts/check-client.ts --write", what: "packages/client/api.txt" },
  binaries: {
    script: "scripts/check-binaries.ts --write",
    what: "scripts/binary-checksums.json, from the publishers' archives",
    isSeldom: true,
  },
  calibration: {
    script: "scripts/calibrate-simulator.ts",
    what: "packages/simulator/src/calibration.json, from real bookings",
    isSeldom: true,
  },
  screenshots: {
    script: "test/console/take-screenshots.ts",
    what: "docs/console, in two minutes with Chromium",
    isSeldom: true,
  },
};

const wanted = process.argv.slice(2);
const usual = Object.keys(GENERATED).filter((name) => GENERATED[name]?.isSeldom !== true);
const names = wanted.length === 0 ? usual : wanted;
const unknown = names.find((name) => !Object.hasOwn(GENERATED, name));
if (unknown !== undefined) {
  console.log("npm run generate [-- NAME …]\n");
  for (const [name, { what, isSeldom }] of Object.entries(GENERATED))
    console.log(`  ${name.padEnd(12)} ${what}${isSeldom === true ? " (only when named)" : ""}`);
  process.exit(wanted.includes("--list") ? 0 : 2);
}
for (const name of names) {
  console.log(`> ${name}`);
  if (!runShell(`node bin/launch.mjs --dev ${GENERATED[name]?.script}`)) process.exitCode = 1;
}
