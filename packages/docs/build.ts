/** Builds the site into `dist` (or `--out DIRECTORY`), with brotli and gzip copies. Usage: node build.ts */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import scalar from "@scalar/fastify-api-reference";
import fastify from "fastify";
import MiniSearch from "minisearch";
import {
  API_PATH,
  AUDIENCES,
  findFiles,
  type Page,
  readContents,
  readText,
  relativeAddress,
} from "./contents.ts";
import { renderMarkdown, sourceText } from "./markdown.ts";
import { audienceOf, renderPage, type Site } from "./page.ts";
import { SEARCH_OPTIONS, type SearchEntry } from "./search-options.ts";

interface ApiDocument {
  readonly info: { readonly version: string; readonly title: string; readonly summary: string };
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string; readonly summary: string }>>>
  >;
}

/** Limits the size of the search index: the first words of a long table are enough. */
const TEXT_CHARACTERS_MAX = 4_000;

const root = fileURLToPath(new URL("../../", import.meta.url));
const { values } = parseArgs({ options: { out: { type: "string", default: "dist" } } });
const out = resolve(import.meta.dirname, values.out);
const sections = readContents();
const pages = sections.flatMap((section) => section.pages);
const api = JSON.parse(readText("docs/openapi.json")) as ApiDocument;
const pictures = findFiles("docs/{architecture,console,simulator}/**/*.{webp,png,svg}");
const served = new Map<string, string>([
  ...pages.map(({ file, path }) => [file, path] as const),
  ...pictures.map((file) => [file, file] as const),
  ["docs/openapi.json", "openapi.json"],
  ["docs/openapi.codegen.json", "openapi.json?profile=codegen"],
]);

const rendered = pages
  .filter(({ file }) => file !== "")
  .map((page) => ({
    page,
    ...renderMarkdown(readText(page.file), { file: page.file, addressOf: addressesFrom(page) }),
  }));
const site: Site = { sections, apiVersion: api.info.version, assets: await writeAssets() };
for (const { page, html, parts, summary } of rendered) {
  const headings = parts.map(({ heading }) => heading);
  const title = headings.find(({ level }) => level === 1)?.text ?? page.label;
  const content = { title, summary, html, headings, scripts: ["site.js"], styles: ["site.css"] };
  write(fileOf(page), renderPage(page, site, content));
}
writeReference();
for (const { page } of rendered)
  write(sourceFileOf(page), sourceText(readText(page.file), page.file, sourcesFrom(page)));
write("llms.txt", listForModels());
for (const file of pictures) {
  const path = join(out, file.replace(/^docs\//, ""));
  mkdirSync(dirname(path), { recursive: true });
  cpSync(join(root, file), path);
}

function addressesFrom(page: Page): (file: string) => string | undefined {
  return (file) => {
    const path = served.get(file);
    return path === undefined ? undefined : relativeAddress(page.path, path);
  };
}

/** `docs/guides/quickstart` is `guides/quickstart.html` of the built site. */
function fileOf({ path }: Page): string {
  return `${path.replace(/^docs\/?/, "") || "index"}.html`;
}

/** The Markdown of a page: `docs/guides/quickstart` is `guides/quickstart.md` of the built site. */
function sourceFileOf({ path }: Page): string {
  return `${path.replace(/^docs\/?/, "") || "index"}.md`;
}

/** Links of a page's Markdown lead to the Markdown of others. */
function sourcesFrom(page: Page): (file: string) => string | undefined {
  const from = `docs/${sourceFileOf(page)}`;
  return (file) => {
    const to = pages.find((other) => other.file === file);
    const path = to === undefined ? served.get(file) : `docs/${sourceFileOf(to)}`;
    return path === undefined ? undefined : relativeAddress(from, path);
  };
}

/** The pages and what each says first (llmstxt.org). */
function listForModels(): string {
  const summaries = new Map(rendered.map(({ page, summary }) => [page, summary]));
  const parts = AUDIENCES.flatMap(({ audience, label }) => {
    const own = sections
      .filter((section) => section.audience === audience)
      .flatMap((section) => section.pages);
    const lines = own
      .filter((page) => summaries.has(page))
      .map((page) => `- [${page.label}](/docs/${sourceFileOf(page)}): ${summaries.get(page)}`);
    return [`## ${label}`, lines.join("\n")];
  });
  const api =
    "- [OpenAPI 3.1 document](/openapi.json): every operation, field and error\n- [OpenAPI document for code generators](/openapi.json?profile=codegen)";
  const [start] = rendered;
  return [`# Bellhop`, `> ${start?.summary}`, "## API", api, ...parts, ""].join("\n\n");
}

/** The sections of every page, and the operations of the API. */
function searchEntries(): SearchEntry[] {
  const ofPages = rendered.flatMap(({ page, parts }) =>
    parts.map(({ heading, text }) => ({
      id: heading.level === 1 ? page.path : `${page.path}#${heading.id}`,
      audience: audienceOf(page, sections),
      page: page.label,
      heading: heading.text,
      text: text.slice(0, TEXT_CHARACTERS_MAX),
    })),
  );
  const ofApi = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, { operationId, summary }]): SearchEntry => ({
        audience: "integrate",
        id: `${API_PATH}#${operationId}`,
        page: "API reference",
        heading: summary,
        text: `${method.toUpperCase()} ${path}`,
      }),
    ),
  );
  return [...ofPages, ...ofApi];
}

async function writeAssets(): Promise<Record<string, string>> {
  const assets: Record<string, string> = {};
  const add = (name: string, content: string | Buffer) => {
    const hash = createHash("sha256").update(content).digest("base64url").slice(0, 10);
    const hashed = name.replace(/\.\w+$/, (extension) => `-${hash}${extension}`);
    write(`assets/${hashed}`, content);
    assets[name] = `docs/assets/${hashed}`;
  };
  const script = (name: string, file: string, imports: Readonly<Record<string, string>> = {}) => {
    const code = stripTypeScriptTypes(readText(`packages/docs/${file}`));
    const linked = Object.entries(imports).reduce(
      (linking, [from, to]) => linking.replace(`from "${from}"`, `from "./${assets[to]?.split("/").at(-1)}"`),
      code,
    );
    add(name, linked);
  };
  // The site looks as the console does: its tokens, font and icon.
  const design = ["tokens.css", "font.css"].map((file) => readText(`packages/console/src/design/${file}`));
  const styles = [...design, readText("packages/docs/browser/site.css")].join("\n");
  add(
    "site.css",
    styles.replace(/url\("(@fontsource[^"]*)"\)/g, (_, file: string) => {
      const name = file.split("/").at(-1) as string;
      add(name, readFileSync(new URL(import.meta.resolve(file))));
      return `url("${assets[name]?.split("/").at(-1)}")`;
    }),
  );
  add("reference.css", readText("packages/docs/browser/reference.css"));
  add("icon.svg", readText("packages/console/public/icon.svg"));
  const index = new MiniSearch(SEARCH_OPTIONS);
  index.addAll(searchEntries());
  add("search.json", JSON.stringify(index));
  add(
    "minisearch.js",
    readFileSync(new URL(import.meta.resolve("minisearch")), "utf8").replace(/\n\/\/# source.*/, ""),
  );
  script("search-options.js", "search-options.ts", { minisearch: "minisearch.js" });
  script("search.js", "browser/search.ts", { "../search-options.ts": "search-options.js" });
  script("site.js", "browser/site.ts", { "./search.ts": "search.js" });
  add("scalar.js", await scalarBundle());
  script("reference.js", "browser/reference.ts");
  return assets;
}

async function scalarBundle(): Promise<string> {
  const app = fastify();
  await app.register(scalar, { routePrefix: "/", configuration: { url: "openapi.json" } });
  const { body, statusCode } = await app.inject("/js/scalar.js");
  await app.close();
  if (statusCode !== 200) throw new Error("Scalar's plugin does not serve its bundle at /js/scalar.js.");
  return body;
}

/** The API reference: Scalar draws the document of the running service, which names its own address. */
function writeReference(): void {
  const page = pages.find(({ path }) => path === API_PATH) as Page;
  const document = relativeAddress(API_PATH, "openapi.json");
  write(
    fileOf(page),
    renderPage(page, site, {
      title: `${api.info.title} reference`,
      summary: api.info.summary,
      html: `<div id="reference" data-document="${document}"></div><noscript><p>The API reference needs JavaScript. The same is in the <a href="${document}">OpenAPI document</a>.</p></noscript>`,
      headings: [],
      scripts: ["site.js", "scalar.js", "reference.js"],
      styles: ["site.css", "reference.css"],
    }),
  );
}

function write(name: string, content: string | Buffer): void {
  const path = join(out, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  // A font is compressed already.
  if (typeof content !== "string") return;
  // The best quality takes 14 s for Scalar alone and saves a tenth.
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  writeFileSync(`${path}.br`, brotliCompressSync(content, brotli));
  writeFileSync(`${path}.gz`, gzipSync(content));
}
