/** A session that holds what others need and waits for its client, as one look found it. */
export interface WaitingSession {
  readonly pid: number;
  /** When it last began or ended a statement, as the database writes that time. */
  readonly spoke: string;
  /** Of the holder, for people. */
  readonly owner: string | null;
  /** Between two statements; else in the middle of one, for which it waits for its client to send or to take something. */
  readonly idle: boolean;
  readonly silent_seconds: number;
}

const FOUND_SHARE = 2 / 3;

/**
 * Which of the waiting sessions are those of a client that hangs. Between statements it is the client's turn all the
 * time, so that one look is enough. In the middle of one it may be the server that took long and waits at this moment
 * only: such a session must be found so at every look for two thirds of that time. (For all of it, a look a second could
 * notice it only two seconds later.)
 */
export class SilentSessions {
  /** By session and statement: when it was first found waiting. */
  #waitingSince = new Map<string, number>();

  /** Those silent for `silenceMsMax`; `now` in ms of any monotonic clock, the same at each look. */
  look(waiting: readonly WaitingSession[], silenceMsMax: number, now: number): readonly WaitingSession[] {
    const before = this.#waitingSince;
    this.#waitingSince = new Map();
    return waiting.filter(({ pid, spoke, idle, silent_seconds }) => {
      const key = `${pid} ${spoke}`;
      const since = before.get(key) ?? now;
      this.#waitingSince.set(key, since);
      const isLong = silent_seconds * 1_000 >= silenceMsMax;
      return isLong && (idle || now - since >= silenceMsMax * FOUND_SHARE);
    });
  }
}
