import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../errors/registry.ts";

/** Media types of the files served; others, such as source maps, are not. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

const INDEX = "index.html";
const FOR_EVER = "public, max-age=31536000, immutable";
/** Encodings of precompressed files, best first. */
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Whether the client accepts an encoding. */
export function accepts(request: FastifyRequest, encoding: string): boolean {
  const accepted = String(request.headers["accept-encoding"] ?? "");
  return accepted.split(",").some((range) => {
    const [name = "", weight = ""] = range.split(";", 2);
    return name.trim().toLowerCase() === encoding && !/^q=0(?:\.0*)?$/i.test(weight.trim());
  });
}

/** How often the package is checked for a new build. */
const CHECK_MS = 500;
/** Of one build, which has about 13 MB. If one is larger, its files are read again in turns. */
const KEPT_BYTES_MAX = 33_554_432;

interface KeptFile {
  readonly bytes: Buffer;
  readonly tag: string;
}

/**
 * Serves the files of a built package (`dist`). Each is read once and kept until the next build: all responses share its bytes, so that
 * slow readers cost neither memory nor open files. Names are looked up in a list, never joined to a path.
 */
export class BuiltFiles {
  readonly #directory: string;
  readonly #cacheControl: string;
  readonly #kept = new Map<string, Promise<KeptFile>>();
  #keptBytes = 0;
  #reading: Promise<unknown> = Promise.resolve();
  #listed: { readonly builtAtMs: number; readonly names: ReadonlySet<string> } | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;

  /** `cacheControl` applies to files without a hash in their names. */
  constructor(directory: string, cacheControl: string) {
    this.#directory = directory;
    this.#cacheControl = cacheControl;
  }

  /** Whether the file exists; undefined while the package is not built. */
  async has(name: string): Promise<boolean | undefined> {
    if (performance.now() - this.#checkedAtMs >= CHECK_MS) {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
      await this.#checking;
    }
    if (this.#listed === undefined) return undefined;
    return extname(name) in TYPES && this.#listed.names.has(name);
  }

  /** Build time of the package as of the last `has`. */
  get builtAtMs(): number {
    return this.#listed?.builtAtMs ?? 0;
  }

  /** The text of a file found by `has`. */
  async read(name: string): Promise<string> {
    return (await this.#file(name)).bytes.toString();
  }

  /** Sends a file found by `has`. Files with a hash in their names are cached forever. */
  async send(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const packed = ENCODINGS.find(
      ([encoding, extension]) =>
        this.#listed?.names.has(name + extension) === true && accepts(request, encoding),
    );
    const { bytes, tag } = await this.#file(name + (packed?.[1] ?? ""));
    const isHashed = name.startsWith("assets/") && /-[\w-]{8,16}\.[a-z0-9]{1,8}$/.test(name);
    reply
      .header("cache-control", isHashed ? FOR_EVER : this.#cacheControl)
      .header("etag", tag)
      .header("vary", "Accept-Encoding");
    if (request.headers["if-none-match"]?.includes(tag)) return reply.code(304).send();
    if (packed !== undefined) reply.header("content-encoding", packed[0]);
    return reply.type(TYPES[extname(name)] ?? "application/octet-stream").send(bytes);
  }

  /** Lists the files of a new build and forgets those of the last one. */
  async #check(): Promise<void> {
    const index = await stat(join(this.#directory, INDEX)).catch(() => undefined);
    if (index !== undefined && index.mtimeMs === this.#listed?.builtAtMs) {
      this.#checkedAtMs = performance.now();
      return;
    }
    const names = await readdir(this.#directory, { recursive: true }).catch(() => undefined);
    this.#forget();
    this.#listed =
      index === undefined || names === undefined
        ? undefined
        : { builtAtMs: index.mtimeMs, names: new Set(names.map((path) => path.replaceAll(sep, "/"))) };
    if (this.#listed !== undefined) this.#checkedAtMs = performance.now();
  }

  #forget(): void {
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  #file(name: string): Promise<KeptFile> {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    // One after another, so that one file is open.
    const file = this.#reading.then(() => this.#load(name));
    this.#reading = file.catch(() => this.#kept.delete(name));
    this.#kept.set(name, file);
    return file;
  }

  async #load(name: string): Promise<KeptFile> {
    const path = join(this.#directory, name);
    try {
      const [bytes, { mtimeMs }] = [await readFile(path), await stat(path)];
      if (this.#keptBytes + bytes.length > KEPT_BYTES_MAX) this.#forget();
      this.#keptBytes += bytes.length;
      return {
        bytes,
        tag: `"${bytes.length.toString(36)}-${Math.trunc(mtimeMs).toString(36)}${extname(name)}"`,
      };
    } catch {
      // A build has replaced the file since the list was read.
      throw new ServiceError("bellhop.http.NotFound");
    }
  }
}
