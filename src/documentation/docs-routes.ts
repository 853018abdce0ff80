import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Deployment, describeDeployment } from "../openapi/deployment.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { accepts, BuiltFiles } from "../platform/http/built-files.ts";

/** What the documentation says of the deployment; the addresses are known once the service listens. */
export interface DocsOptions extends Omit<Deployment, "addresses"> {
  addresses(): Deployment["addresses"];
}

/** The site's own files and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
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

async function sendPage(files: BuiltFiles, path: string, request: FastifyRequest, reply: FastifyReply) {
  reply.header("content-security-policy", path === "api" ? REFERENCE_POLICY : PAGE_POLICY);
  // Pages have no extension in their addresses, other files have.
  const name = /\.\w+$/.test(path) ? path : `${path || "index"}.html`;
  const found = path.endsWith(".html") ? false : await files.has(name);
  if (found === true) return files.send(name, request, reply);
  if (found === false) throw new ServiceError("bellhop.http.NotFound");
  return reply.code(503).header("cache-control", "no-store").type("text/html; charset=utf-8").send(NOT_BUILT);
}

/**
 * Registers `/docs`, the built documentation site, and `/openapi.json`, the OpenAPI document of this deployment. No token is
 * needed.
 */
export function registerDocsRoutes(app: FastifyInstance, options: DocsOptions, directory = DIRECTORY): void {
  let described: { readonly json: string; readonly packed: Buffer; readonly tag: string } | undefined;
  const describe = () => {
    const json = JSON.stringify(describeDeployment({ ...options, addresses: options.addresses() }));
    return {
      json,
      packed: gzipSync(json),
      tag: `"${createHash("sha256").update(json).digest("base64url").slice(0, 22)}"`,
    };
  };
  app.get("/openapi.json", (request, reply) => {
    // Made at the first request, since only then the addresses are known.
    described ??= describe();
    const { json, packed, tag } = described;
    reply.header("cache-control", CACHE_CONTROL).header("etag", tag).header("vary", "Accept-Encoding");
    if (request.headers["if-none-match"]?.includes(tag)) return reply.code(304).send();
    reply.type("application/json; charset=utf-8");
    return accepts(request, "gzip")
      ? reply.header("content-encoding", "gzip").send(packed)
      : reply.send(json);
  });
  const files = new BuiltFiles(directory, CACHE_CONTROL);
  app.get("/docs", (request, reply) => sendPage(files, "", request, reply));
  app.get("/docs/*", (request, reply) => {
    const { "*": path } = request.params as { "*": string };
    if (path === "" || path === "index") throw new ServiceError("bellhop.http.NotFound");
    return sendPage(files, path, request, reply);
  });
}
