import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceOptions } from "./service-process.ts";
import { type StartedService, startService } from "./started-service.ts";

/** A service whose telemetry can be toggled at run time; initially off. */
export interface SwitchedService extends StartedService {
  /** Resolves once all threads have switched and pending telemetry is sent. */
  turn(isOn: boolean): Promise<void>;
  /** Exports the metrics this many times in a row. */
  sendMetrics(count: number): Promise<void>;
}

/** Starts a service with telemetry-switch.ts; `options` name its collector. */
export async function startSwitchedService(name: string, options: ServiceOptions): Promise<SwitchedService> {
  const folder = await mkdtemp(join(tmpdir(), "bellhop-switch-"));
  const socket = join(folder, "socket");
  const preload = new URL("./telemetry-switch.ts", import.meta.url);
  preload.searchParams.set("socket", socket);
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await startService(name, { ...options, nodeOptions: ["--import", preload.href] });
    return {
      ...started,
      turn: (isOn) => order(socket, isOn ? "/on" : "/off"),
      sendMetrics: (count) => order(socket, `/metrics?count=${count}`),
      stop: async () => {
        await started.stop();
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

function order(socketPath: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, path, method: "POST" }, (response) => {
      let said = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        said += text;
      });
      response.on("error", reject);
      response.on("end", () => (response.statusCode === 200 ? resolve() : reject(new Error(said))));
    });
    asking.on("error", reject);
    asking.end();
  });
}
