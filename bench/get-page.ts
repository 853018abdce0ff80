import { once } from "node:events";
import { type Agent, get, type IncomingMessage } from "node:http";
import type { ServiceProcess } from "./service-process.ts";

export interface Page {
  readonly status: number;
  readonly body: Buffer;
  /** From the request to the last byte. */
  readonly ms: number;
}

/**
 * Reads a page of the service as bytes. As text and objects, pages would make the client collect its garbage while the next one is
 * measured.
 */
export async function getPage(agent: Agent, service: ServiceProcess, path: string): Promise<Page> {
  const headers = { authorization: `Bearer ${service.token}` };
  const startedAt = performance.now();
  const asked = get({ agent, host: "127.0.0.1", port: service.port, path, headers });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const chunks: Buffer[] = await answer.toArray();
  const ms = performance.now() - startedAt;
  return { status: answer.statusCode ?? 0, body: Buffer.concat(chunks), ms };
}
