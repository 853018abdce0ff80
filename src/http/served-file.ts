import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Long enough for a visit; a deployment that changes is seen a few minutes later. */
const CACHE_CONTROL = "public, max-age=300";

/** A file as it is sent: whole or compressed, with a tag that says whether it is still the same. */
export class ServedFile {
  readonly #type: string;
  readonly #body: Buffer;
  readonly #packed: Buffer | undefined;
  readonly #tag: string;

  /** `packs`: whether it is worth compressing; pictures are compressed already. */
  constructor(type: string, content: string | Buffer, packs = true) {
    this.#type = type;
    this.#body = Buffer.from(content);
    this.#packed = packs ? gzipSync(this.#body) : undefined;
    this.#tag = `"${createHash("sha256").update(this.#body).digest("base64url").slice(0, 22)}"`;
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header("cache-control", CACHE_CONTROL).header("etag", this.#tag);
    if (this.#packed !== undefined) reply.header("vary", "Accept-Encoding");
    if (request.headers["if-none-match"]?.includes(this.#tag)) return reply.code(304).send();
    reply.type(this.#type);
    const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(
      String(request.headers["accept-encoding"] ?? ""),
    );
    if (this.#packed === undefined || !takesGzip) return reply.send(this.#body);
    return reply.header("content-encoding", "gzip").send(this.#packed);
  }
}

/** Makes a value when it is first asked for, and keeps it. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
