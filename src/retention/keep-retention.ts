import type pg from "pg";
import { type RetentionRun, runRetention } from "./run-retention.ts";

/** A term ends when it ends: what is an hour late has been kept for an hour too long, whatever the length of windows. */
const LOOK_MS_MAX = 3_600_000;
/** With the shortest windows, a minute: what has expired is gone within two of them. */
const LOOKS_A_WINDOW = 2;

/** Runs retention by itself, now and again; where several nodes do, one at a time finds something to do. */
export function keepRetention(
  clientConfig: pg.ClientConfig,
  windowMs: number,
  heard: { ran(run: RetentionRun): void; failed(error: unknown): void; copying(processId: number): void },
): { stop(): Promise<void> } {
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const ending = new AbortController();
  const everyMs = Math.min(LOOK_MS_MAX, windowMs / LOOKS_A_WINDOW);
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = runRetention({ clientConfig, signal: ending.signal, copying: heard.copying })
      .then(heard.ran, (error) => {
        if (!ending.signal.aborted) heard.failed(error);
      })
      .finally(() => {
        isRunning = false;
      });
  }, everyMs).unref();
  return {
    stop: () => {
      clearInterval(timer);
      ending.abort();
      return running;
    },
  };
}
