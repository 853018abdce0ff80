import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { StoredToken, TokenStore } from "#client";
import type { Progress } from "../cli/progress.ts";
import { waitForLock } from "../platform/db/embedded/file-lock.ts";
import { makeDirectory } from "../platform/runtime/make-directory.ts";

/** A token request takes less; a hanging one must not block all other commands. */
const LOCK_MS_MAX = 20_000;
/** Maximum time that a token is used, whatever its lifetime. */
const TOKEN_MS_MAX = 86_400_000;

/**
 * Access tokens in the user's cache folder, one file per key, readable only by the user. The key is a digest of token endpoint and
 * credentials, so a command finds a token only if it could request it. Any failure disables the cache.
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

  /** Written to a temporary file and renamed, so that readers never see a partial token. */
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

  /** Creates the folder, and deletes files older than any token. */
  async #prepare(): Promise<void> {
    await makeDirectory(this.#directory, 0o700);
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      if ((await lstat(path)).mtimeMs < Date.now() - TOKEN_MS_MAX) await rm(path, { force: true });
    }
  }
}

/** Undefined if the token has expired, or another user owns or can read the file. */
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
