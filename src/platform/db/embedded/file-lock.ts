import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/**
 * A lock on a file, held until released or until this process dies. Node has no flock, so this uses SQLite's kernel
 * record locks: they work across containers that share the directory and need no clean-up. The file stays empty.
 */
export interface FileLock {
  release(): void;
}

type LockMode = "exclusive" | "shared";

const SQLITE_BUSY = 5;

/** Takes the lock, or returns undefined if another process holds it. */
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

/** Waits up to `waitMsMax` for the lock, then returns undefined. Throws once `signal` is aborted. */
export async function waitForLock(
  path: string,
  mode: LockMode,
  waitMsMax: number,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  // The wall clock could be set back during the wait.
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    const lock = tryLock(path, mode);
    if (lock !== undefined || performance.now() >= deadline) return lock;
    signal?.throwIfAborted();
    // Concurrent attempts can refuse each other; random delays separate them.
    await delay(5 + Math.random() * 20);
  }
}
