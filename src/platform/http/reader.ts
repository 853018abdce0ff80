import type { ServerResponse } from "node:http";

/** Why a reading was ended: its client has left. */
export class ReaderGone extends Error {
  constructor() {
    super("The client left before its answer was made.");
  }
}

/** How long a reading may take, and what it fails with after that. */
export interface ReadingTime {
  readonly ms: number;
  error(): Error;
}

/** Aborts (`readFor`) when the connection of the client that a response is for closes, or when the time is over. */
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
