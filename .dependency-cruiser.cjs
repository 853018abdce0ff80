// The directions of src/README.md, enforced. A folder may import platform/, cli/ (the frame of commands), and what is listed for it.
// An entry that ends in .ts is the one module of that feature that others may use.
const PLATFORM = {
  "platform/errors": [],
  "platform/crypto": ["platform/errors"],
  "platform/runtime": ["platform/errors"],
  "platform/telemetry": ["platform/errors", "platform/runtime"],
  "platform/db": ["platform/errors", "platform/telemetry", "platform/runtime"],
  "platform/http": ["platform/errors", "platform/db", "platform/runtime", "platform/telemetry"],
};
const FEATURES = {
  identity: ["config.ts"],
  ingest: ["identity"],
  apply: ["ingest", "identity/audit.ts"],
  query: ["ingest", "apply", "identity", "console"],
  settings: ["apply/state", "identity", "console"],
  insight: ["ingest", "apply", "query", "settings", "identity", "console"],
  backfill: ["ingest", "query", "insight", "identity", "console"],
  webhooks: ["ingest", "query", "settings", "identity", "console", "config.ts"],
  certification: ["ingest", "query", "identity", "console"],
  retention: ["ingest", "apply", "query", "settings", "identity/audit.ts"],
  privacy: ["ingest", "apply", "query", "retention", "settings", "identity", "webhooks"],
  operations: ["config.ts", "ingest", "apply", "query", "insight", "settings", "retention", "privacy", "webhooks", "backfill", "identity", "console"],
  export: ["ingest", "apply", "query", "insight", "identity/audit.ts"],
  partner: ["identity/local-clients.ts", "identity/cli", "config.ts"],
  console: ["identity"],
  cli: ["config.ts"],
  openapi: ["identity", "ingest", "query", "insight", "backfill", "webhooks", "certification"],
  documentation: ["openapi"],
};
const COMMON = [...Object.keys(PLATFORM), "cli"];
const pattern = (entry) => (entry.endsWith(".ts") ? `^src/${entry}$` : `^src/${entry}/`);
const layer = (from, to) => ({
  name: `${from}-imports-only-what-is-listed`,
  severity: "error",
  from: { path: `^src/${from}/`, pathNot: "\\.test\\.ts$" },
  to: { path: "^src/", pathNot: [`^src/${from}/`, ...to.map(pattern)] },
});
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "nothing-imports-main", severity: "error", from: { pathNot: "^src/main\\.ts$" }, to: { path: "^src/main\\.ts$" } },
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
    ...Object.entries(PLATFORM).map(([from, to]) => layer(from, to)),
    ...Object.entries(FEATURES).map(([from, to]) => layer(from, [...COMMON, ...to])),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
