/**
 * Turns telemetry on and off in a service that runs, in all of its threads: what is compared so is one process. The service's own
 * files stay as they are. Loaded before the service by `--import telemetry-switch.ts?socket=<path>`, which each of its threads loads too; the
 * main one takes `POST /on`, `/off` and `/metrics?count=<so many>` at that socket, and answers once it is done.
 *
 * Off, a request is asked once whether it is sampled, and is not: no span, nothing in the log's row, nothing sent. Metrics, which go
 * once a minute, are sent on demand only, for what one sending takes.
 */
import { createServer } from "node:http";
import { BroadcastChannel, isMainThread } from "node:worker_threads";
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace";
import { Tracer } from "../src/platform/telemetry/opentelemetry.ts";

/** Messages between threads. */
type Message = { readonly isOn: boolean } | "here" | "turned";

let isOn = false;
/** The span processors of this thread, known after its first span. */
const processors = new Set<BatchSpanProcessor>();
const readers = new Set<PeriodicExportingMetricReader>();

const { begin } = Tracer.prototype;
Tracer.prototype.begin = function (name, options, traceparent) {
  return isOn ? begin.call(this, name, options, traceparent) : undefined;
};
const { onEnd } = BatchSpanProcessor.prototype;
BatchSpanProcessor.prototype.onEnd = function (span) {
  processors.add(this);
  onEnd.call(this, span);
};
// Replaces the SDK's version, which exports at an interval.
Object.assign(PeriodicExportingMetricReader.prototype, {
  onInitialized(this: PeriodicExportingMetricReader) {
    readers.add(this);
  },
});

/** Sends pending telemetry before switching off, because it belongs to the measurement. */
async function turn(toOn: boolean): Promise<void> {
  isOn = toOn;
  if (!toOn) await Promise.allSettled([...processors].map((processor) => processor.forceFlush()));
}

async function sendMetrics(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await Promise.all([...readers].map((reader) => reader.forceFlush()));
}

const channel = new BroadcastChannel("telemetry-switch");
channel.unref();

function followMainThread(): void {
  channel.onmessage = ({ data }) => {
    const message = data as Message;
    if (typeof message === "object") void turn(message.isOn).then(() => channel.postMessage("turned"));
  };
  channel.postMessage("here");
}

function takeOrders(socket: string): void {
  let others = 0;
  let turned = (): void => undefined;
  channel.onmessage = ({ data }) => {
    if (data === "here") others += 1;
    if (data === "turned") turned();
  };
  const turnAll = async (toOn: boolean): Promise<void> => {
    let waiting = others;
    const { promise, resolve } = Promise.withResolvers<void>();
    turned = () => {
      waiting -= 1;
      if (waiting === 0) resolve();
    };
    channel.postMessage({ isOn: toOn });
    await turn(toOn);
    if (others > 0) await promise;
  };
  const obey = async ({ pathname, searchParams }: URL): Promise<void> => {
    if (pathname === "/metrics") await sendMetrics(Number(searchParams.get("count")));
    else await turnAll(pathname === "/on");
  };
  createServer((request, response) => {
    obey(new URL(request.url ?? "", "http://switch")).then(
      () => response.end(),
      (error: Error) => response.writeHead(500).end(error.stack),
    );
  })
    .listen(socket)
    .unref();
}

if (isMainThread) takeOrders(new URL(import.meta.url).searchParams.get("socket") ?? "");
else followMainThread();
