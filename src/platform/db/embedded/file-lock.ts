import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/**
 * A lock on a file that is held for the life of this process and freed by its death, however it dies. Node has no
 * flock; what SQLite takes on its database file are the kernel's own record locks, which span containers that share
 * the directory, need no clean-up after kill -9 and cannot be taken twice by a race. The file stays empty: nothing is
 * ever stored in it.
 */
export interface FileLock {
  release(): void;
}

type LockMode = "exclusive" | "shared";

const SQLITE_BUSY = 5;

/** Takes the lock now, or returns undefined when somebody else's stands against it. */
export function tryLock(path: string, mode: LockMode): FileLock | undefined {
  // timeout 0: waiting inside SQLite would block the event loop.
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec(mode === "exclusive" ? "begin exclusive" : "begin; select count(*) from sqlite_schema");
    return { release: () => file.close() };
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw new Error(`The lock file ${path} cannot be used.`, { cause: error });
  }
}

/** Waits until the lock is free, for at most `waitMsMax`; then undefined. Throws once `signal` is aborted. */
export async function waitForLock(
  path: string,
  mode: LockMode,
  waitMsMax: number,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  // Here and wherever this folder waits, by the monotonic clock: the machine's own may be set back meanwhile.
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    const lock = tryLock(path, mode);
    if (lock !== undefined || performance.now() >= deadline) return lock;
    signal?.throwIfAborted();
    // Two that try at the same moment can refuse each other; chance keeps them from doing it again.
    await delay(5 + Math.random() * 20);
  }
}
