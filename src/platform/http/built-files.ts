import { open, readdir, readFile, stat } from "node:fs/promises";
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
  return accepted
    .split(",")
    .map((range) => range.trim().split(/\s*;\s*/))
    .some(([name, weight]) => name?.toLowerCase() === encoding && !/^q=0(?:\.0*)?$/i.test(weight ?? ""));
}

/**
 * Serves the files of a built package (`dist`), streamed from disk so that slow readers cost no memory. Names are looked up in a list,
 * never joined to a path. The list is read again after a build.
 */
export class BuiltFiles {
  readonly #directory: string;
  readonly #cacheControl: string;
  #listed: { readonly builtAtMs: number; readonly names: ReadonlySet<string> } | undefined;

  /** `cacheControl` applies to files without a hash in their names. */
  constructor(directory: string, cacheControl: string) {
    this.#directory = directory;
    this.#cacheControl = cacheControl;
  }

  /** Whether the file exists; undefined while the package is not built. */
  async has(name: string): Promise<boolean | undefined> {
    const index = await stat(join(this.#directory, INDEX)).catch(() => undefined);
    if (index === undefined) return undefined;
    if (this.#listed?.builtAtMs !== index.mtimeMs) {
      const names = await readdir(this.#directory, { recursive: true }).catch(() => undefined);
      if (names === undefined) return undefined;
      this.#listed = {
        builtAtMs: index.mtimeMs,
        names: new Set(names.map((path) => path.replaceAll(sep, "/"))),
      };
    }
    return extname(name) in TYPES && this.#listed.names.has(name);
  }

  /** Build time of the package as of the last `has`. */
  get builtAtMs(): number {
    return this.#listed?.builtAtMs ?? 0;
  }

  /** The text of a file found by `has`. */
  read(name: string): Promise<string> {
    return readFile(join(this.#directory, name), "utf8").catch(() => {
      throw new ServiceError("bellhop.http.NotFound");
    });
  }

  /** Sends a file found by `has`. Files with a hash in their names are cached forever. */
  async send(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const packed = ENCODINGS.find(
      ([encoding, extension]) =>
        this.#listed?.names.has(name + extension) === true && accepts(request, encoding),
    );
    const path = join(this.#directory, name + (packed?.[1] ?? ""));
    const file = await open(path).catch(() => {
      // A build has replaced the file since the list was read.
      throw new ServiceError("bellhop.http.NotFound");
    });
    const { size, mtimeMs } = await file.stat();
    const tag = `"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}${packed?.[1] ?? ""}"`;
    const isHashed = /^assets\/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/.test(name);
    reply
      .header("cache-control", isHashed ? FOR_EVER : this.#cacheControl)
      .header("etag", tag)
      .header("vary", "Accept-Encoding");
    if (request.headers["if-none-match"]?.includes(tag)) {
      await file.close();
      return reply.code(304).send();
    }
    if (packed !== undefined) reply.header("content-encoding", packed[0]);
    reply.type(TYPES[extname(name)] ?? "application/octet-stream").header("content-length", size);
    return reply.send(file.createReadStream());
  }
}
