import type { RawAnswer, RawConnection } from "../support/raw-http.ts";
import type { Shot } from "./shot.ts";

/** An answer takes milliseconds; a connection that says nothing for so long hangs. */
const HANG_MS = 20_000;
/**
 * A damaged shot may ask for more bytes than it has: then its client ends its side, and the service the connection, with whatever
 * answer is owed on it. So it waits for longer than an answer takes on a machine that is busy with other tests.
 */
const PATIENCE_MS = 5_000;

export interface Conversation {
  /** Whatever came, in its order. */
  readonly answers: readonly RawAnswer[];
  /** The connection is closed, and takes no other shot. */
  readonly used: boolean;
}

const closes = (answer: RawAnswer) => answer.headers.get("connection") === "close";

/** Sends one shot, and waits for its answer, for the canary's behind it, and for the end where one was announced. Throws on a hang. */
export async function answersTo(connection: RawConnection, shot: Shot): Promise<Conversation> {
  connection.write(shot.bytes);
  if (shot.ends === "before-answer") connection.socket.end();
  const isWhole = shot.canary === undefined || shot.expect === "served";
  const patience = isWhole ? undefined : endWhenSilent(connection);
  try {
    const answers =
      shot.canary === undefined ? [await connection.answer(HANG_MS)] : await untilCanary(connection);
    const last = answers.at(-1);
    const isOpen = !connection.closed && !connection.socket.writableEnded;
    if (shot.ends === undefined && last !== undefined && !closes(last) && isOpen)
      return { answers, used: false };
    connection.socket.end();
    await connection.closing(HANG_MS);
    // What it still says is about bytes that were no request.
    while (connection.received.length > 0) answers.push(await connection.answer(HANG_MS));
    return { answers, used: true };
  } finally {
    clearTimeout(patience);
  }
}

function endWhenSilent(connection: RawConnection): NodeJS.Timeout {
  return setTimeout(() => connection.socket.end(), PATIENCE_MS);
}

/** The message's answer and the canary's, or as many as there are when the connection ends. */
async function untilCanary(connection: RawConnection): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  while (answers.length < 2) {
    let answer: RawAnswer;
    try {
      answer = await connection.answer(HANG_MS);
    } catch (error) {
      if (connection.closed && connection.received.length === 0) return answers;
      throw error;
    }
    answers.push(answer);
    if (closes(answer)) return answers;
  }
  return answers;
}
