import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A word that no document of today has. */
export const WORD_OF_TOMORROW = "not-known-today";

const OUTCOME = {
  index: 0,
  clientCode: "DEMO",
  propertyCode: null,
  key: null,
  outcome: WORD_OF_TOMORROW,
  code: null,
  pointer: "/0",
  message: "An outcome of a later release.",
  warnings: [{ pointer: "/0", code: WORD_OF_TOMORROW, message: "A warning of a later release." }],
};

/** Every object of an answer with one more field, except records: those are verbatim in every release. */
function withMoreFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMoreFields);
  if (typeof value !== "object" || value === null) return value;
  const isRecord = "createDateTime" in value || "lastModifiedDateTime" in value;
  if (isRecord) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, withMoreFields(inner)]);
  return { ...Object.fromEntries(fields), addedLater: { by: ["a later release"], from: 1.5, to: null } };
}

/** What a later release answers where today's answers `body`. */
function ofNextRelease(path: string, body: string): string {
  const answer = JSON.parse(body) as Record<string, unknown>;
  if (/^\/api\/public\/v1\/requests\//.test(path) && Array.isArray(answer["records"])) {
    answer["records"].push(OUTCOME);
    answer["handling"] = WORD_OF_TOMORROW;
  }
  return JSON.stringify(withMoreFields(answer));
}

async function textOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

async function forward(service: string, asked: IncomingMessage, reply: ServerResponse): Promise<void> {
  const body = await textOf(asked);
  const { connection: _, upgrade: __, "http2-settings": ___, ...headers } = asked.headers;
  const options = { method: asked.method, headers: { ...headers, "accept-encoding": "identity" } };
  const sent = request(new URL(asked.url ?? "/", service), options, async (answer) => {
    const given = await textOf(answer);
    const isJson = /^application\/json/.test(answer.headers["content-type"] ?? "");
    const text = isJson ? Buffer.from(ofNextRelease(asked.url ?? "", given.toString())) : given;
    const { "transfer-encoding": _, connection: __, ...kept } = answer.headers;
    reply.writeHead(answer.statusCode ?? 502, { ...kept, "content-length": text.length }).end(text);
  });
  sent.on("error", () => reply.destroy());
  sent.end(body);
}

/** A server that answers as a later release of the service would: with fields, an outcome and a warning that are not known today. */
export async function startNextRelease(service: string) {
  const server = createServer((asked, reply) => void forward(service, asked, reply));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    return new Promise<unknown>((resolve) => server.close(resolve));
  };
  return { address, stop };
}
