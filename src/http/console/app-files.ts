import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";

/** What a file of the app may be; anything else (a map of the sources, say) is not served. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

const FILES_MAX = 500;
const BYTES_MAX = 32 * 1_048_576;
const INDEX = "index.html";

/** A file of the app as it is sent: whole, and as small as the build made it. */
export interface AppFile {
  readonly type: string;
  readonly tag: string;
  /** Its name has a hash of its content: it never changes under this name. */
  readonly isHashed: boolean;
  readonly body: Buffer;
  readonly brotli: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** The built app, by path within `/console/`. */
export type App = ReadonlyMap<string, AppFile>;

interface Loaded {
  readonly builtAtMs: number;
  readonly app: App;
}

async function loadApp(directory: string): Promise<App> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => extname(name) in TYPES);
  if (names.length > FILES_MAX) throw new Error(`${directory} has more than ${FILES_MAX} files.`);
  const app = new Map<string, AppFile>();
  let bytes = 0;
  const read = async (path: string) => {
    const found = await readFile(path).catch(() => undefined);
    bytes += found?.length ?? 0;
    if (bytes > BYTES_MAX) throw new Error(`${directory} has more than ${BYTES_MAX} bytes.`);
    return found;
  };
  for (const name of names) {
    const path = join(directory, name);
    const body = await read(path);
    if (body === undefined) continue;
    app.set(name.replaceAll(sep, "/"), {
      type: TYPES[extname(name)] ?? "application/octet-stream",
      tag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
      isHashed: /^assets[\\/].*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/.test(name),
      body,
      brotli: await read(`${path}.br`),
      gzip: await read(`${path}.gz`),
    });
  }
  return app;
}

/**
 * The built app of a directory, read when it is first asked for and kept in memory (some hundred kB); read again when the
 * directory was built anew. Nothing but what lies in it can be asked for: names are looked up, never joined to a path.
 */
export class AppFiles {
  readonly #directory: string;
  #loaded: Loaded | undefined;
  #loading: Promise<Loaded | undefined> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The app as it is built now; undefined when it is not. */
  async current(): Promise<App | undefined> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return (await this.#loading)?.app;
  }

  async #load(): Promise<Loaded | undefined> {
    const index = await stat(join(this.#directory, INDEX)).catch(() => undefined);
    if (index === undefined) return undefined;
    if (this.#loaded?.builtAtMs !== index.mtimeMs)
      this.#loaded = { builtAtMs: index.mtimeMs, app: await loadApp(this.#directory) };
    return this.#loaded;
  }
}

/** The page of the app: it reads the address itself, so every deep link gets it. */
export function indexOf(app: App): AppFile | undefined {
  return app.get(INDEX);
}
