const { readdirSync } = require("node:fs");

/**
 * The directions of src/README.md, enforced, types included. A folder imports only folders that stand above it here, so there is no ring,
 * and of these only what it lists. An entry that ends in .ts is the one module of that folder that may be imported.
 */
const PLATFORM = {
  "platform/errors": [],
  "platform/crypto": ["platform/errors"],
  "platform/runtime": ["platform/errors"],
  "platform/telemetry": ["platform/errors", "platform/runtime"],
  "platform/db": ["platform/errors", "platform/runtime", "platform/telemetry"],
  "platform/http": ["platform/errors", "platform/runtime", "platform/telemetry", "platform/db"],
};
const platform = Object.keys(PLATFORM);
const FRAME = {
  "compile-cache.ts": [],
  "config-table.ts": platform,
  "config.ts": [...platform, "config-table.ts"],
  cli: [...platform, "config.ts"],
};
/** A feature may also import platform/ and the frame of commands. */
const FEATURES = {
  identity: ["config.ts"],
  console: ["identity"],
  ingest: ["identity"],
  apply: ["identity/audit.ts", "ingest"],
  query: ["identity", "console", "ingest", "apply"],
  settings: ["identity", "console"],
  insight: ["identity", "console", "ingest", "apply", "query", "settings"],
  backfill: ["identity", "console", "ingest", "query", "insight"],
  webhooks: ["config.ts", "identity", "console", "ingest", "query", "settings"],
  certification: ["identity", "console", "ingest", "query"],
  delivery: ["config.ts", "identity", "console", "query", "settings", "insight"],
  retention: ["identity/audit.ts", "ingest", "apply", "query", "settings"],
  privacy: ["identity", "ingest", "apply", "query", "settings", "webhooks", "retention"],
  operations: ["config.ts", "identity", "ingest", "apply", "query", "settings", "insight", "webhooks", "delivery", "retention", "privacy"],
  export: ["identity/audit.ts", "ingest", "apply", "query", "insight"],
  partner: ["config.ts", "identity/local-clients.ts", "identity/cli"],
  openapi: ["identity", "ingest", "query", "insight", "backfill", "webhooks", "certification"],
  documentation: ["openapi"],
};
/** The wiring imports anything above it. */
const WIRING = ["service", "cli.ts", "main.ts"];

const allowed = new Map([...Object.entries(PLATFORM), ...Object.entries(FRAME)]);
for (const [feature, listed] of Object.entries(FEATURES)) allowed.set(feature, [...platform, "cli", ...listed]);
for (const folder of WIRING) allowed.set(folder, [...allowed.keys()]);

const folders = [...allowed.keys()];
const folderOf = (entry) => folders.find((folder) => entry === folder || entry.startsWith(`${folder}/`));
for (const [at, [folder, entries]] of [...allowed].entries())
  for (const entry of entries)
    if (!folders.slice(0, at).includes(folderOf(entry)))
      throw new Error(`.dependency-cruiser.cjs: ${folder} lists ${entry}, which does not stand above it.`);
const inSource = readdirSync(`${__dirname}/src`).flatMap((name) =>
  name === "platform" ? readdirSync(`${__dirname}/src/platform`).map((part) => `platform/${part}`) : [name],
);
for (const name of inSource)
  if (!folders.includes(name) && !/\.(test\.ts|md)$/.test(name))
    throw new Error(`.dependency-cruiser.cjs does not list src/${name}.`);

const pattern = (entry) => (entry.endsWith(".ts") ? `^src/${entry.replaceAll(".", "\\.")}$` : `^src/${entry}/`);
const layer = ([from, to]) => ({
  name: `${from}-imports-only-what-is-listed`,
  severity: "error",
  from: { path: pattern(from), pathNot: "\\.test\\.ts$" },
  to: { path: "^src/", pathNot: [from, ...to].map(pattern) },
});
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "product-does-not-import-tests", severity: "error", from: { path: "^(src|packages)/", pathNot: "\\.test\\.ts$" }, to: { path: "^(test|bench|scripts)/" } },
    {
      name: "product-does-not-import-dev-dependencies",
      severity: "error",
      from: { path: "^src/", pathNot: "\\.test\\.ts$" },
      to: { dependencyTypes: ["npm-dev"], pathNot: "@types/" },
    },
    {
      name: "the-client-stands-alone",
      severity: "error",
      from: { path: "^packages/client/src/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["^packages/client/src/", "^node:", "^(async_hooks|buffer|crypto|fs|stream|stream/promises|timers/promises|util|zlib)$"] },
    },
    {
      name: "contract-and-simulator-stand-alone",
      severity: "error",
      from: { path: "^packages/(contract|simulator)/src/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(src|packages)/", pathNot: ["^packages/$1/src/", "^packages/client/src/"] },
    },
    {
      name: "only-the-dialect-knows-citus",
      comment: "What a statement needs on Citus stands in src/platform/db; a feature says which buckets it is about (dialect.ts).",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/platform/db/", "\\.test\\.ts$"] },
      to: { path: ["^src/platform/db/distribution\\.ts$", "^src/platform/db/citus/"] },
    },
    ...[...allowed].map(layer),
  ],
  required: [
    {
      name: "a-unit-test-is-named-for-its-module",
      comment: "x.test.ts stands beside x.ts and imports it; a test of several modules belongs in test/.",
      severity: "error",
      module: { path: "^((?:src|packages/[^/]+/src)/.+)\\.test\\.ts$" },
      to: { path: "^$1\\.tsx?$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
