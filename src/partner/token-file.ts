import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { StoredToken, TokenStore } from "#client";
import type { Progress } from "../cli/progress.ts";
import { waitForLock } from "../platform/db/embedded/file-lock.ts";
import { makeDirectory } from "../platform/runtime/make-directory.ts";

/** A request for a token takes less; one that hangs must not hold up every other command. */
const LOCK_MS_MAX = 20_000;
/** The longest that a token is used, whatever its lifetime. */
const TOKEN_MS_MAX = 86_400_000;

/**
 * Access tokens in the user's cache folder, one file per key and readable by the user alone. The key is a digest of the token endpoint
 * and the credentials, so a command finds a token only if it could request the same one. Every failure means no cache.
 */
export class TokenFiles implements TokenStore {
  readonly #directory: string;
  readonly #progress: Progress;

  constructor(environment: NodeJS.ProcessEnv, progress: Progress) {
    const cache = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
    this.#directory = join(cache, "bellhop", "tokens");
    this.#progress = progress;
  }

  async find(key: string): Promise<StoredToken | undefined> {
    return readToken(this.#path(key));
  }

  /** Replaced whole, so that a reader never sees half a token. */
  async keep(key: string, token: StoredToken): Promise<void> {
    const path = this.#path(key);
    const fresh = `${path}.${process.pid}`;
    try {
      await this.#prepare();
      await rm(fresh, { force: true });
      await writeFile(fresh, `${JSON.stringify(token)}\n`, { mode: 0o600, flag: "wx" });
      await rename(fresh, path);
    } catch {
      await rm(fresh, { force: true }).catch(() => undefined);
    }
  }

  async exclusive<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const lock = await this.#lock(key);
    try {
      return await work();
    } finally {
      lock?.release();
    }
  }

  async #lock(key: string) {
    try {
      await this.#prepare();
      this.#progress.wait("another command is requesting the token.", { ms: LOCK_MS_MAX });
      return await waitForLock(`${this.#path(key)}.lock`, "exclusive", LOCK_MS_MAX);
    } catch {
      return undefined;
    } finally {
      this.#progress.resume();
    }
  }

  #path(key: string): string {
    return join(this.#directory, `${key}.json`);
  }

  /** Makes the folder, and removes what is older than any token: its credentials are no longer used. */
  async #prepare(): Promise<void> {
    await makeDirectory(this.#directory, 0o700);
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      if ((await lstat(path)).mtimeMs < Date.now() - TOKEN_MS_MAX) await rm(path, { force: true });
    }
  }
}

/** Undefined for a token that expired, and for a file that another user wrote or could read. */
async function readToken(path: string): Promise<StoredToken | undefined> {
  try {
    const file = await lstat(path);
    if (!file.isFile() || file.uid !== process.getuid?.() || (file.mode & 0o077) !== 0) return undefined;
    const { value, scopes, renewAt, expiresAt } = JSON.parse(await readFile(path, "utf8"));
    if (typeof value !== "string" || typeof renewAt !== "number" || typeof expiresAt !== "number")
      return undefined;
    if (!Array.isArray(scopes) || Date.now() >= expiresAt) return undefined;
    return { value, scopes: scopes.map(String), renewAt, expiresAt };
  } catch {
    return undefined;
  }
}
