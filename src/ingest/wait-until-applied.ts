import type { FastifyInstance, FastifyRequest } from "fastify";
import { preferenceOf } from "../platform/http/preferences.ts";

/** A request is applied within milliseconds unless there is a backlog. */
const WAIT_SECONDS_MAX = 10;
/** Further requests are answered at once. Each one that waits costs a query of 0.3 ms every 250 ms. */
const WAITING_MAX = 200;
/** Per client. */
const WAITING_OF_ONE_MAX = 50;
const FIRST_PAUSE_MS = 10;
const PAUSE_MS_MAX = 250;

/** Waits for `isDone`, for at most the preferred time. Returns the value of Preference-Applied, or null. */
export type WaitAsked = (request: FastifyRequest, isDone: () => Promise<boolean>) => Promise<string | null>;

/**
 * Implements `Prefer: wait=<seconds>` (RFC 7240, section 4.3), at most 10 s, for outcomes of requests and operator decisions.
 * Waiting ends when the service drains or the client disconnects.
 */
export function createWait(app: FastifyInstance): WaitAsked {
  const waiting = new Set<() => void>();
  const waitingOf = new Map<string, number>();
  let draining = false;
  app.addHook("preClose", async () => {
    draining = true;
    for (const end of waiting) end();
  });

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      waiting.add(end);
    });
  }

  async function waitUntil(untilMs: number, request: FastifyRequest, isDone: () => Promise<boolean>) {
    let pauseMs = FIRST_PAUSE_MS;
    // The request itself is destroyed as soon as its body was read.
    const { socket } = request.raw;
    while (!draining && !socket.destroyed && waiting.size < WAITING_MAX && !(await isDone())) {
      const left = untilMs - performance.now();
      if (left <= 0) break;
      const pausedAt = performance.now();
      await pause(Math.min(pauseMs, left));
      if (request.waits !== undefined) request.waits.asked += performance.now() - pausedAt;
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
    }
  }

  return async (request, isDone) => {
    const asked = preferenceOf(request.headers["prefer"], "wait");
    if (asked === null || !/^\d{1,9}$/.test(asked)) return null;
    const seconds = Math.min(Number(asked), WAIT_SECONDS_MAX);
    const who = request.principal?.clientId ?? "";
    const ofWho = waitingOf.get(who) ?? 0;
    if (ofWho < WAITING_OF_ONE_MAX) {
      waitingOf.set(who, ofWho + 1);
      await waitUntil(performance.now() + seconds * 1000, request, isDone).finally(() => {
        const left = (waitingOf.get(who) ?? 1) - 1;
        if (left > 0) waitingOf.set(who, left);
        else waitingOf.delete(who);
      });
    }
    return `wait=${seconds}`;
  };
}
