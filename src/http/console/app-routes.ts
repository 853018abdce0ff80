import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../../errors/registry.ts";
import { type AppFile, AppFiles, indexOf } from "./app-files.ts";

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

const FOR_EVER = "public, max-age=31536000, immutable";
const ASK_AGAIN = "no-cache";

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

/** Whether an encoding is one that the browser says it takes. */
function takes(request: FastifyRequest, encoding: string): boolean {
  const accepted = String(request.headers["accept-encoding"] ?? "");
  return accepted
    .split(",")
    .map((range) => range.trim().split(/\s*;\s*/))
    .some(([name, weight]) => name?.toLowerCase() === encoding && !/^q=0(?:\.0*)?$/i.test(weight ?? ""));
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: AppFile): FastifyReply {
  reply
    .header("cache-control", file.isHashed ? FOR_EVER : ASK_AGAIN)
    .header("etag", file.tag)
    .header("vary", "Accept-Encoding");
  if (request.headers["if-none-match"]?.includes(file.tag)) return reply.code(304).send();
  reply.type(file.type);
  if (file.brotli !== undefined && takes(request, "br"))
    return reply.header("content-encoding", "br").send(file.brotli);
  if (file.gzip !== undefined && takes(request, "gzip"))
    return reply.header("content-encoding", "gzip").send(file.gzip);
  return reply.send(file.body);
}

async function answer(files: AppFiles, path: string, request: FastifyRequest, reply: FastifyReply) {
  const app = await files.current();
  const file = app?.get(path);
  if (file !== undefined && path !== "") return sendFile(request, reply, file);
  // A file that a page of an older build asks for, or an address of the API that there is not, is no page.
  if (/^(?:assets|api)(?:\/|$)/.test(path) || /\.[a-z0-9]+$/.test(path))
    throw new ServiceError("bellhop.http.NotFound");
  const index = app === undefined ? undefined : indexOf(app);
  if (index !== undefined) return sendFile(request, reply, index);
  return reply.code(503).header("cache-control", "no-store").type("text/html; charset=utf-8").send(NOT_BUILT);
}

/** The app as it was built, under `/console`: files for ever under hashed names, the page for every other address. */
export function addAppRoutes(scope: FastifyInstance, directory: string): void {
  const files = new AppFiles(directory);
  const policy = async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY);
  };
  scope.get("/console", { onRequest: policy }, (request, reply) => answer(files, "", request, reply));
  scope.get("/console/*", { onRequest: policy }, (request, reply) =>
    answer(files, (request.params as { "*": string })["*"], request, reply),
  );
}
