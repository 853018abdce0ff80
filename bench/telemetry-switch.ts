/**
 * Turns telemetry on and off in a service that runs, in all of its threads: what is compared so is one process. The service's own
 * files stay as they are. Loaded before the service by `--import telemetry-switch.ts?socket=<path>`, which each of its threads loads too; the
 * main one takes `POST /on`, `/off` and `/metrics?count=<so many>` at that socket, and answers once it is done.
 *
 * Off, a request is asked once whether it is sampled, and is not: no span, nothing in the log's row, nothing sent. Metrics, which go
 * once a minute, are sent on demand only, for what one sending takes.
 */
import { createServer } from "node:http";
import { registerHooks } from "node:module";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { BroadcastChannel, isMainThread } from "node:worker_threads";
import type { MetricExporter } from "../src/observe/otlp/metric-exporter.ts";
import { PeriodicSending } from "../src/observe/otlp/periodic-sending.ts";
import { OtlpSender } from "../src/observe/otlp/sender.ts";
import { Tracer } from "../src/observe/otlp/tracer.ts";
import { startMetricExporter as startSending } from "../src/threads/telemetry.ts";

/** What the threads tell each other. */
type Told = { readonly isOn: boolean } | "here" | "turned";

const REPLACED = new URL("../src/threads/telemetry.ts", import.meta.url).href;

let isOn = false;
let startExporter = async (): Promise<MetricExporter | undefined> => undefined;
/** The sendings of this thread's spans, each known once it has looked whether there is something. */
const sendings = new Set<PeriodicSending>();
const underWay = new Set<Promise<void>>();
let sent = 0;

// What the service imports as its src/threads/telemetry.ts is this module.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const isOurs = context.parentURL === import.meta.url;
    return resolved.url === REPLACED && !isOurs ? { ...resolved, url: import.meta.url } : resolved;
  },
});

export { startTracer } from "../src/threads/telemetry.ts";

/** In the place of the service's own: starts none until it is asked for one. */
export async function startMetricExporter(...of: Parameters<typeof startSending>): Promise<undefined> {
  startExporter = () => startSending(...of);
}

const { begin } = Tracer.prototype;
Tracer.prototype.begin = function (traceparent) {
  return isOn ? begin.call(this, traceparent) : undefined;
};
const { sendNow } = PeriodicSending.prototype;
PeriodicSending.prototype.sendNow = function () {
  sendings.add(this);
  sendNow.call(this);
};
const { send } = OtlpSender.prototype;
OtlpSender.prototype.send = function (bytes, mediaType) {
  sent += 1;
  const sending = send.call(this, bytes, mediaType);
  underWay.add(sending);
  const over = () => void underWay.delete(sending);
  sending.then(over, over);
  return sending;
};

/** What waits is sent before it is off: it belongs to what was measured. */
async function turn(toOn: boolean): Promise<void> {
  isOn = toOn;
  if (toOn) return;
  for (let before = -1; before !== sent || underWay.size > 0; ) {
    before = sent;
    for (const sending of sendings) sending.sendNow();
    await Promise.allSettled(underWay);
    await turnOfLoop();
  }
}

async function sendMetrics(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await (await startExporter())?.stop();
}

const channel = new BroadcastChannel("telemetry-switch");
channel.unref();

function followMainThread(): void {
  channel.onmessage = ({ data }) => {
    const told = data as Told;
    if (typeof told === "object") void turn(told.isOn).then(() => channel.postMessage("turned"));
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
