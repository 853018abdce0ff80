/** Builds the console into `dist` (or `--out DIRECTORY`), with brotli and gzip copies. Usage: node build.ts [--watch] */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("./", import.meta.url));
const { values } = parseArgs({
  options: { out: { type: "string", default: "dist" }, watch: { type: "boolean", default: false } },
});
const out = resolve(root, values.out);

await build({
  root,
  configFile: false,
  envDir: false,
  // Absolute, because deep links have other base paths.
  base: "/console/",
  logLevel: "warn",
  build: {
    outDir: out,
    emptyOutDir: true,
    // Browsers since mid-2024, which support light-dark(), :has() and CSS nesting.
    target: ["chrome123", "firefox121", "safari17.5"],
    // The content security policy permits no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    watch: values.watch ? {} : null,
    rolldownOptions: {
      onLog: (level, log, warn) => {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") warn(level, log);
      },
      output: {
        codeSplitting: {
          groups: [{ name: "react", test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/ }],
        },
      },
    },
  },
  oxc: { jsx: { runtime: "automatic" } },
});
if (!values.watch) await compressTexts(out);

async function compressTexts(directory: string): Promise<void> {
  const names = (await readdir(directory, { recursive: true })).filter((name) =>
    /\.(html|js|css|svg)$/.test(name),
  );
  await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      const text = await readFile(path);
      const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
      await writeFile(`${path}.br`, await promisify(brotliCompress)(text, brotli));
      await writeFile(`${path}.gz`, await promisify(gzip)(text, { level: constants.Z_BEST_COMPRESSION }));
    }),
  );
}
