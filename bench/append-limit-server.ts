/**
 * The second limit: the bare server plus the service's reading and checking of records, packing, and one durable
 * append, on THREADS threads with a shared port. No authentication, limits, idempotency, metrics or applying.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import pg from "pg";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import type { Resource } from "#contract/resource.ts";
import { packBody } from "../src/ingest/log/body-layout.ts";
import type { StoredBody } from "../src/ingest/log/part-name.ts";

const TABLE = `create table if not exists append_limit (id bigint generated always as identity primary key,
    layout bytea not null, body bytea not null);
  alter table append_limit alter column body set storage external, alter column layout set storage external`;
/** Like the service's append: one binary parameter, because an array of bytea would travel as hexadecimal text. */
const APPEND = `insert into append_limit (layout, body)
  select substring($1::bytea from layout_from for layout_bytes), substring($1::bytea from body_from for body_bytes)
  from unnest($2::int[], $3::int[], $4::int[], $5::int[]) as part (layout_from, layout_bytes, body_from, body_bytes)`;
const LIMITS = { recordsMax: 10_000, depthMax: 16 };

interface Waiting {
  readonly stored: StoredBody;
  readonly done: (error?: Error) => void;
}

/** Appends that arrive during a statement share the next one. */
class Appender {
  readonly #client: pg.Client;
  #waiting: Waiting[] = [];
  #writing = false;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  append(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (!this.#writing) void this.#flush();
  }

  async #flush(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const flushed = this.#waiting.splice(0);
      const bytes: Buffer[] = [];
      const columns: number[][] = [[], [], [], []];
      let from = 1;
      for (const { stored } of flushed) {
        [stored.layout, stored.body].forEach((part, at) => {
          bytes.push(part);
          columns[at * 2]?.push(from);
          columns[at * 2 + 1]?.push(part.length);
          from += part.length;
        });
      }
      const values = [Buffer.concat(bytes), ...columns];
      const error = await this.#client.query({ name: "append", text: APPEND, values }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      for (const { done } of flushed) done(error);
    }
    this.#writing = false;
  }
}

function receive(appender: Appender, request: IncomingMessage, response: ServerResponse): void {
  const answer = (status: number, text: string): void => {
    response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
    response.end(text);
  };
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const resource = request.url?.split("/").at(-1) as Resource;
    const reading = readBatch(body, LIMITS, resource);
    if (!reading.ok || reading.records.some((record) => checkRecord(resource, record, 1).total > 0)) {
      answer(400, '{"message":"invalid"}');
      return;
    }
    appender.append({
      stored: packBody(body, reading.records),
      done: (error) => answer(error === undefined ? 202 : 503, `{"records":${reading.records.length}}`),
    });
  });
}

async function serve(port: number): Promise<number> {
  const client = new pg.Client();
  await client.connect();
  const appender = new Appender(client);
  const server = createServer((request, response) => receive(appender, request, response));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen({ port, host: "127.0.0.1", reusePort: true }, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

async function listenOnAllThreads(): Promise<void> {
  const client = new pg.Client();
  await client.connect();
  await client.query(TABLE);
  await client.end();
  let port = 0;
  for (let thread = 0; thread < Number(process.env["THREADS"] ?? 1); thread += 1) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { port } });
    port = await new Promise<number>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  }
  process.send?.({ port });
  process.on("disconnect", () => process.exit());
}

if (isMainThread) await listenOnAllThreads();
else parentPort?.postMessage(await serve((workerData as { port: number }).port));
