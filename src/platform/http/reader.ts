import type { ServerResponse } from "node:http";

/** The client of a read has disconnected. */
export class ReaderGone extends Error {
  constructor() {
    super("The client disconnected before the response.");
  }
}

/** Time limit of a read, and the error after it. */
export interface ReadingTime {
  readonly ms: number;
  error(): Error;
}

/** A signal for `readFor` that aborts when the client disconnects or the time limit is exceeded. */
export function readingFor(
  response: Pick<ServerResponse, "closed" | "once">,
  time?: ReadingTime,
): AbortSignal {
  const reading = new AbortController();
  const timer = time && setTimeout(() => reading.abort(time.error()), time.ms);
  const leave = () => {
    clearTimeout(timer);
    reading.abort(new ReaderGone());
  };
  if (response.closed) leave();
  else response.once("close", leave);
  return reading.signal;
}
