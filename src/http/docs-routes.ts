import { readFileSync } from "node:fs";
import { posix } from "node:path";
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../errors/registry.ts";
import { renderReference } from "./api-reference/page.ts";
import {
  API_PATH,
  type Page,
  readBytes,
  readContents,
  readPictures,
  relativeAddress,
  START_PATH,
} from "./docs-site/contents.ts";
import { searchIndex } from "./docs-site/search-index.ts";
import { renderTextPage, type Site } from "./docs-site/text-page.ts";
import { buildOpenApiDocument } from "./openapi/document.ts";
import type { DocumentOptions } from "./openapi/options.ts";
import type { PageFiles } from "./page/shell.ts";
import { once, ServedFile } from "./served-file.ts";

type Addresses = NonNullable<DocumentOptions["addresses"]>;

/** What the document says of the deployment; the addresses are asked for once the service listens. */
export interface DocsOptions extends Omit<DocumentOptions, "addresses"> {
  addresses(): Addresses;
  readonly sandbox: boolean;
}

/** The pages' own files and nothing else: nothing from elsewhere, nothing inline, no frames, no forms. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const HTML = "text/html; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";
const SEARCH_PATH = "docs/search.json";

/** The files that pages load, by address, with where they lie; all are small and stay in memory. */
const ASSETS: Readonly<Record<string, readonly [type: string, file: string]>> = {
  "docs/page.css": ["text/css; charset=utf-8", "./page/page.css"],
  "docs/site.css": ["text/css; charset=utf-8", "./docs-site/site.css"],
  "docs/copy.js": ["text/javascript; charset=utf-8", "./page/copy.js"],
  "docs/follow-reading.js": ["text/javascript; charset=utf-8", "./page/follow-reading.js"],
  "docs/reference.js": ["text/javascript; charset=utf-8", "./api-reference/reference.js"],
  "docs/site.js": ["text/javascript; charset=utf-8", "./docs-site/site.js"],
  "docs/search.js": ["text/javascript; charset=utf-8", "./docs-site/search.js"],
  "docs/icon.svg": ["image/svg+xml", "./page/icon.svg"],
};
const PICTURES: Readonly<Record<string, string>> = {
  ".webp": "image/webp",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** Where a page finds its files, relative to itself. */
function filesOf(path: string): PageFiles {
  const to = (target: string) => relativeAddress(path, target);
  const scripts = path === API_PATH ? ["docs/reference.js"] : ["docs/site.js"];
  return {
    styles: [to("docs/page.css"), to("docs/site.css")],
    scripts: ["docs/copy.js", ...scripts, "docs/search.js"].map(to),
    icon: to("docs/icon.svg"),
    start: to(START_PATH),
    api: to(API_PATH),
    document: to("openapi.json"),
    search: to(SEARCH_PATH),
    root: to("docs").replace(/docs$/, ""),
  };
}

/** Everything below `/docs` by its address, each made when it is first asked for and then kept: some sixty pages. */
function filesBelowDocs(settled: () => DocumentOptions & { addresses: Addresses; sandbox: boolean }) {
  const sections = readContents();
  const site: Site = {
    sections,
    pictures: readPictures(),
    apiVersion: buildOpenApiDocument(settled()).info.version,
  };
  const files = new Map<string, () => ServedFile>();
  const add = (path: string, make: () => ServedFile) => files.set(path, once(make));
  for (const page of sections.flatMap(({ pages }) => pages).filter((one): one is Page => "file" in one))
    add(page.path, () => new ServedFile(HTML, renderTextPage(page, site, filesOf(page.path))));
  add(API_PATH, () => new ServedFile(HTML, renderReference(settled(), filesOf(API_PATH))));
  add(SEARCH_PATH, () => new ServedFile(JSON_TYPE, JSON.stringify(searchIndex(sections))));
  for (const [path, [type, file]] of Object.entries(ASSETS))
    add(path, () => new ServedFile(type, readFileSync(new URL(file, import.meta.url), "utf8")));
  // Some megabytes together and seldom asked for: read anew each time.
  for (const [path, file] of site.pictures)
    files.set(
      path,
      () => new ServedFile(PICTURES[posix.extname(file)] ?? "image/svg+xml", readBytes(file), false),
    );
  return files;
}

/**
 * `/openapi.json`, the OpenAPI document of this deployment, and `/docs`, the documentation: its pages are the Markdown
 * files of docs/, and the API reference is made from the document. All are made when they are first asked for, since only
 * then the addresses are known. No token is needed.
 */
export function registerDocsRoutes(app: FastifyInstance, options: DocsOptions): void {
  const settled = () => ({ ...options, addresses: options.addresses() });
  const document = once(() => new ServedFile(JSON_TYPE, JSON.stringify(buildOpenApiDocument(settled()))));
  const files = once(() => filesBelowDocs(settled));
  const find = (path: string): ServedFile => {
    const make = files().get(path);
    if (make === undefined) throw new ServiceError("bellhop.http.NotFound");
    return make();
  };
  app.get("/openapi.json", (request, reply) => document().send(request, reply));
  // The policy is set here, over the app's, which forbids everything.
  app.get("/docs", (request, reply) =>
    find(START_PATH).send(request, reply.header("content-security-policy", CONTENT_SECURITY_POLICY)),
  );
  app.get("/docs/*", (request, reply) =>
    find(`docs/${(request.params as { "*": string })["*"]}`).send(
      request,
      reply.header("content-security-policy", CONTENT_SECURITY_POLICY),
    ),
  );
}
