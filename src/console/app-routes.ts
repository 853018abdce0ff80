import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../platform/errors/registry.ts";
import { BuiltFiles } from "../platform/http/built-files.ts";

/** The app's own files and nothing else: nothing from elsewhere, nothing inline, no frames. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Bellhop console</title></head>
<body>
<h1>The console is not built yet</h1>
<p>The service runs; only its console is missing. <code>npm start</code> builds it when the packages can be fetched, and
<code>npm run console:build</code> builds it by itself, also while the service runs. Then load this page again.</p>
</body>
</html>
`;

async function answer(files: BuiltFiles, path: string, request: FastifyRequest, reply: FastifyReply) {
  if (path !== "" && (await files.has(path)) === true) return files.send(path, request, reply);
  // A file that a page of an older build asks for, or an address of the API that there is not, is no page.
  if (/^(?:assets|api)(?:\/|$)/.test(path) || /\.[a-z0-9]+$/.test(path))
    throw new ServiceError("bellhop.http.NotFound");
  // The app reads the address itself, so every deep link gets its page.
  if ((await files.has("index.html")) === true) return files.send("index.html", request, reply);
  return reply.code(503).header("cache-control", "no-store").type("text/html; charset=utf-8").send(NOT_BUILT);
}

/** The app as it was built, under `/console`: files for ever under hashed names, the page for every other address. */
export function addAppRoutes(scope: FastifyInstance, directory: string): void {
  const files = new BuiltFiles(directory, "no-cache");
  const policy = async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY);
  };
  scope.get("/console", { onRequest: policy }, (request, reply) => answer(files, "", request, reply));
  scope.get("/console/*", { onRequest: policy }, (request, reply) =>
    answer(files, (request.params as { "*": string })["*"], request, reply),
  );
}
