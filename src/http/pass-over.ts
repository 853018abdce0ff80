import type { IncomingMessage } from "node:http";
import { freeBuffer } from "./body-buffers.ts";

/** What still arrives of a refused request is dropped at once up to here: most bodies are smaller. */
const FREE_BYTES = 262_144;
/**
 * Beyond that, so many pieces (64 KiB, what a socket is read by) of all refused bodies of this thread are dropped in each
 * interval: 32 MB a second. A partner beyond its rate that sent on as fast as it could had 580 MB a second read, which took
 * half of the processor from the others (npm run noisy -- --kind invalid); the largest body is over in half a second.
 */
const PIECES_PER_INTERVAL = 5;
const INTERVAL_MS = 10;

/** Who waits for a turn, and how much of this interval is left. */
const waiting: IncomingMessage[] = [];
let left = PIECES_PER_INTERVAL;
let isCounting = false;

function nextInterval(): void {
  left = PIECES_PER_INTERVAL;
  while (left > 0 && waiting.length > 0) {
    const request = waiting.shift() as IncomingMessage;
    if (request.destroyed) continue;
    left -= 1;
    request.resume();
  }
  // With nobody waiting and nothing used, there is no interval to count.
  isCounting = left < PIECES_PER_INTERVAL;
  if (isCounting) setTimeout(nextInterval, INTERVAL_MS);
}

/**
 * What still arrives of a refused request is read and dropped, so that the answer reaches a client that sends before it
 * reads; the request's timeout bounds it. Its memory is freed chunk by chunk: a hundred large bodies would leave 64 MB to the
 * garbage collector of each thread. Large ones take turns, as refusing is to cost little.
 */
export function passOver(request: IncomingMessage): void {
  if (request.complete) return;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    freeBuffer(chunk);
    if (bytes <= FREE_BYTES) return;
    if (!isCounting) setTimeout(nextInterval, INTERVAL_MS);
    isCounting = true;
    if (left > 0) left -= 1;
    else {
      request.pause();
      waiting.push(request);
    }
  });
}
