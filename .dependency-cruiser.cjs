// The layers of src/README.md, enforced. A folder may import only what is listed for it here.
const allowed = {
  main: null,
  threads: null,
  // What a folder is told by the settings, the doctor judges.
  doctor: ["config.ts", "accept", "apply", "auth", "backfill", "console", "contract", "feed", "insight", "read", "retention", "settings", "state", "db", "errors", "observe", "memory"],
  http: ["auth", "contract", "accept", "state", "read", "insight", "backfill", "console", "settings", "feed", "certify", "network", "errors", "observe", "db", "memory"],
  auth: ["db", "errors", "observe", "memory", "network"],
  accept: ["contract", "db", "errors", "observe", "memory"],
  apply: ["contract", "state", "ledger", "accept", "db", "errors", "observe", "memory"],
  ledger: ["contract", "state", "accept", "db", "errors"],
  state: ["contract", "db", "errors"],
  read: ["contract", "accept", "state", "db", "errors"],
  insight: ["contract", "accept", "state", "ledger", "read", "settings", "db", "errors"],
  backfill: ["contract", "accept", "state", "read", "insight", "db", "errors"],
  console: ["contract", "accept", "read", "settings", "db", "errors"],
  feed: ["contract", "accept", "state", "read", "settings", "network", "db", "errors", "observe", "memory"],
  certify: ["auth", "contract", "read", "db", "errors"],
  retention: ["auth", "contract", "accept", "apply", "state", "ledger", "read", "settings", "feed", "db", "errors", "observe", "memory"],
  settings: ["db", "errors"],
  survey: ["contract", "settings", "db", "errors", "observe"],
  db: ["errors", "observe"],
  backup: ["accept", "apply", "state", "retention", "feed", "db", "errors", "observe"],
  simulate: [],
  partner: ["contract", "errors"],
  contract: [],
  errors: [],
  network: [],
  observe: ["memory"],
  memory: [],
};
const layers = Object.entries(allowed)
  .filter(([, to]) => to !== null)
  .map(([from, to]) => ({
    name: `${from}-may-import-only-its-layers`,
    severity: "error",
    from: { path: `^src/${from}/`, pathNot: "\\.test\\.ts$" },
    to: { path: "^src/", pathNot: [`^src/${from}/`, ...to.map((t) => (t.endsWith(".ts") ? `^src/${t}$` : `^src/${t}/`))] },
  }));
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "only-config-reads-the-environment-and-nothing-imports-main",
      severity: "error",
      from: { pathNot: "^src/main\\.ts$" },
      to: { path: "^src/main\\.ts$" },
    },
    { name: "product-does-not-import-tests", severity: "error", from: { path: "^src/", pathNot: "\\.test\\.ts$" }, to: { path: "^(test|bench|scripts)/" } },
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
      to: { pathNot: ["^packages/client/src/", "^node:", "^(async_hooks|buffer|crypto|fs|stream|stream/promises|util|zlib)$"] },
    },
    ...layers,
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
