import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Deployment, describeDeployment } from "../openapi/deployment.ts";
import { buildOpenApiDocument } from "../openapi/document.ts";
import { forGenerators } from "../openapi/for-generators.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { accepts, BuiltFiles } from "../platform/http/built-files.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";

/** What the documentation says of the deployment; addresses and sandbox client are known once the service listens. */
export interface DocsOptions extends Omit<Deployment, "addresses" | "sandboxId"> {
  addresses(): Deployment["addresses"];
  sandboxId(): Promise<string | undefined>;
}

/** The site's own files and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];
const PAGE_POLICY = [...POLICY, "require-trusted-types-for 'script'"].join("; ");
/** Scalar adds `<style>` elements to its page. */
const REFERENCE_POLICY = POLICY.join("; ").replace("style-src 'self'", "style-src 'self' 'unsafe-inline'");

/** Long enough for a visit; a deployment that changes is seen a few minutes later. */
const CACHE_CONTROL = "public, max-age=300";
/** Where the site is once it is built (packages/docs). */
const DIRECTORY = fileURLToPath(new URL("../../packages/docs/dist/", import.meta.url));
const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="5"><title>Bellhop documentation</title></head>
<body>
<h1>The documentation is not built yet</h1>
<p>The service runs without it. <code>npm start</code> builds it within seconds of a first start, when its packages can be
installed; <code>npm run docs:build</code> builds it while the service runs. This page loads again until then.</p>
</body>
</html>
`;

/** What the guides name for want of the deployment's own. */
const EXAMPLE_ADDRESS = "http://127.0.0.1:8080";
const EXAMPLE_ID = "CLIENT_ID=…";

/** A text that is made of the deployment, and of `state`. */
interface MadeText {
  readonly state: string;
  readonly text: Buffer;
  readonly packed: Buffer;
  readonly tag: string;
}

function made(state: string, content: string): MadeText {
  const text = Buffer.from(content);
  const tag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  return { state, text, packed: gzipSync(text), tag };
}

function sendMade(
  { text, packed, tag }: MadeText,
  type: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  reply.header("cache-control", CACHE_CONTROL).header("etag", tag).header("vary", "Accept-Encoding");
  if (request.headers["if-none-match"]?.includes(tag)) return reply.code(304).send();
  reply.type(`${type}; charset=utf-8`);
  return accepts(request, "gzip") ? reply.header("content-encoding", "gzip").send(packed) : reply.send(text);
}

/**
 * Registers `/docs`, the built documentation site, to which `/` leads, and `/openapi.json`, the OpenAPI document of this deployment,
 * also for code generators. No token is needed.
 */
export function registerDocsRoutes(app: FastifyInstance, options: DocsOptions, directory = DIRECTORY): void {
  const files = new BuiltFiles(directory, CACHE_CONTROL);
  const texts = new Map<string, MadeText>();
  /** A text as it was made before, unless its state is another now. */
  const textOf = async (name: string, state: string, make: () => string | Promise<string>) => {
    const known = texts.get(name);
    if (known?.state === state) return known;
    const fresh = made(state, await make());
    texts.set(name, fresh);
    return fresh;
  };
  /** A guide, whose commands name this deployment. */
  const guideOf = async (name: string) => {
    const sandboxId = await options.sandboxId();
    return textOf(name, `${files.builtAtMs} ${sandboxId}`, async () => {
      const { baseUrl } = options.addresses();
      const page = (await files.read(name)).replaceAll(EXAMPLE_ADDRESS, () => baseUrl);
      return sandboxId === undefined ? page : page.replaceAll(EXAMPLE_ID, `CLIENT_ID=${sandboxId}`);
    });
  };
  const sendPage = async (path: string, request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", path === "api" ? REFERENCE_POLICY : PAGE_POLICY);
    // Pages have no extension in their addresses, other files have.
    const name = /\.\w+$/.test(path) ? path : `${path || "index"}.html`;
    const found = path.endsWith(".html") ? false : await files.has(name);
    if (found === undefined) return reply.code(503).type("text/html; charset=utf-8").send(NOT_BUILT);
    if (!found) throw new ServiceError("bellhop.http.NotFound");
    return name.startsWith("guides/")
      ? sendMade(await guideOf(name), name.endsWith(".md") ? "text/markdown" : "text/html", request, reply)
      : files.send(name, request, reply);
  };
  app.get("/openapi.json", async (request, reply) => {
    const { profile } = request.query as { readonly profile?: unknown };
    if (profile === "codegen") {
      const plain = await textOf("openapi.codegen.json", "", () =>
        JSON.stringify(forGenerators(buildOpenApiDocument({ ...options, addresses: options.addresses() }))),
      );
      return sendMade(plain, "application/json", request, reply);
    }
    if (profile !== undefined) throw invalidParameter("profile takes codegen, once, or is left out.");
    const sandboxId = await options.sandboxId();
    const described = await textOf("openapi.json", String(sandboxId), () =>
      JSON.stringify(describeDeployment({ ...options, sandboxId, addresses: options.addresses() })),
    );
    return sendMade(described, "application/json", request, reply);
  });
  app.get("/llms.txt", (request, reply) => sendPage("llms.txt", request, reply));
  app.get("/", (_request, reply) => reply.redirect("/docs"));
  app.get("/docs", (request, reply) => sendPage("", request, reply));
  app.get("/docs/*", (request, reply) => {
    const { "*": path } = request.params as { "*": string };
    if (path === "") return reply.redirect("/docs", 301);
    if (path === "index") throw new ServiceError("bellhop.http.NotFound");
    return sendPage(path, request, reply);
  });
}
