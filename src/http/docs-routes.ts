import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type PageFiles, renderReference } from "./api-reference/page.ts";
import { buildOpenApiDocument } from "./openapi/document.ts";
import type { DocumentOptions } from "./openapi/options.ts";

type Addresses = NonNullable<DocumentOptions["addresses"]>;

/** What the document says of the deployment; the addresses are asked for once the service listens. */
export interface DocsOptions extends Omit<DocumentOptions, "addresses"> {
  addresses(): Addresses;
  readonly sandbox: boolean;
}

/** Long enough for a visit; a deployment that changes is seen a few minutes later. */
const CACHE_CONTROL = "public, max-age=300";

/** The page's own files and nothing else: nothing from elsewhere, nothing inline, no frames, no forms. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** The page's files, by the address of each; all are small and stay in memory. */
const FILES = {
  style: { name: "reference.css", type: "text/css; charset=utf-8" },
  script: { name: "reference.js", type: "text/javascript; charset=utf-8" },
  icon: { name: "icon.svg", type: "image/svg+xml" },
} as const;

/** A file as it is sent: whole or compressed, with a tag that says whether it is still the same. */
class Served {
  readonly #type: string;
  readonly #body: Buffer;
  readonly #packed: Buffer;
  readonly #tag: string;

  constructor(type: string, text: string) {
    this.#type = type;
    this.#body = Buffer.from(text);
    this.#packed = gzipSync(this.#body);
    this.#tag = `"${createHash("sha256").update(this.#body).digest("base64url").slice(0, 22)}"`;
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header("cache-control", CACHE_CONTROL).header("etag", this.#tag).header("vary", "Accept-Encoding");
    if (request.headers["if-none-match"]?.includes(this.#tag)) return reply.code(304).send();
    reply.type(this.#type);
    if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(request.headers["accept-encoding"] ?? "")))
      return reply.send(this.#body);
    return reply.header("content-encoding", "gzip").send(this.#packed);
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * `/openapi.json`, the OpenAPI document of this deployment, and `/docs`, the API reference made from it. Both are made
 * when they are first asked for, since only then the addresses are known. No token is needed.
 */
export function registerDocsRoutes(app: FastifyInstance, options: DocsOptions): void {
  const files: PageFiles = {
    style: `docs/${FILES.style.name}`,
    script: `docs/${FILES.script.name}`,
    icon: `docs/${FILES.icon.name}`,
    document: "openapi.json",
  };
  const settled = () => ({ ...options, addresses: options.addresses() });
  const document = once(
    () => new Served("application/json; charset=utf-8", JSON.stringify(buildOpenApiDocument(settled()))),
  );
  const page = once(() => new Served("text/html; charset=utf-8", renderReference(settled(), files)));
  app.get("/openapi.json", (request, reply) => document().send(request, reply));
  app.get("/docs", (request, reply) =>
    // Set here, over the app's policy, which forbids everything.
    page().send(request, reply.header("content-security-policy", CONTENT_SECURITY_POLICY)),
  );
  for (const { name, type } of Object.values(FILES)) {
    const file = once(
      () => new Served(type, readFileSync(new URL(`./api-reference/${name}`, import.meta.url), "utf8")),
    );
    app.get(`/docs/${name}`, (request, reply) => file().send(request, reply));
  }
}
