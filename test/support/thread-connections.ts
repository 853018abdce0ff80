import { type RawAnswer, RawConnection } from "./raw-http.ts";
import type { TestService } from "./service.ts";
import { untilFound } from "./until.ts";

/** A kept connection and the thread that serves it. */
export interface ThreadConnection {
  readonly thread: string;
  /** Sends a whole request and answers what comes. */
  ask(method: string, path: string, options?: RawRequest): Promise<RawAnswer>;
  readonly raw: RawConnection;
}

export interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function ask(
  raw: RawConnection,
  method: string,
  path: string,
  { headers = {}, body = "" }: RawRequest = {},
): Promise<RawAnswer> {
  const lines = Object.entries({ host: "localhost", "content-length": String(body.length), ...headers });
  raw.write(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
  return await raw.answer();
}

/** The thread that answered, as the log line of the request says. */
async function threadOf(service: TestService, answer: RawAnswer): Promise<string> {
  const id = answer.headers.get("x-request-id") ?? "";
  const line = await untilFound(async () => service.logLines().find((logged) => logged.includes(id)));
  return (JSON.parse(line) as { thread: string }).thread;
}

/** Opens connections until as many as are wanted lie on each thread that serves HTTP: the system deals them out. */
export async function connectToEachThread(
  service: TestService,
  perThread: number,
): Promise<ThreadConnection[]> {
  const found: ThreadConnection[] = [];
  while (found.length < perThread * service.config.httpThreads) {
    const raw = await RawConnection.open(service.address);
    // Anything under /api/ leaves a line in the log.
    const thread = await threadOf(service, await ask(raw, "GET", "/api/public/v1/requests"));
    if (found.filter((other) => other.thread === thread).length === perThread) raw.destroy();
    else found.push({ thread, raw, ask: (...request) => ask(raw, ...request) });
  }
  return found.sort((a, b) => a.thread.localeCompare(b.thread));
}
