import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { OperatorError } from "../../errors/operator-error.ts";

/** The account that the server runs as when the service runs as root, which PostgreSQL refuses for itself. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Something about this machine keeps the embedded server from running; the message says what to do, in one line. */
export class EmbeddedPostgresError extends OperatorError {}

/**
 * Whom the server runs as: undefined means as ourselves, an ordinary user. As root it is the owner of the data
 * directory where there is one already, else the first of the accounts that exist on nearly every system; none is ever
 * created. Throws EmbeddedPostgresError when there is none.
 */
export function chooseServerUser(existingDataDirectory: string | undefined): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existingDataDirectory !== undefined) {
    const { uid, gid } = statSync(existingDataDirectory);
    if (uid === 0) {
      throw new EmbeddedPostgresError(
        `${existingDataDirectory} belongs to root, as whom PostgreSQL does not run: give it to another user (chown -R).`,
      );
    }
    return { name: `user ${uid}`, uid, gid };
  }
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(":");
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
    // macOS writes nobody as -2, which the kernel knows as the unsigned number.
    if (fields !== undefined && uid !== 0) return { name, uid: uid >>> 0, gid: gid >>> 0 };
  }
  throw new EmbeddedPostgresError(
    "PostgreSQL does not run as root and there is no account postgres or nobody: start as an ordinary user, or set DATABASE_URL.",
  );
}

/** What spawn needs to run something as the server's user, with none of our environment (it holds secrets). */
export function spawnIdentity(user: ServerUser | undefined): {
  uid?: number;
  gid?: number;
  cwd: string;
  env: NodeJS.ProcessEnv;
} {
  const base = { cwd: "/", env: { LC_ALL: "C", PATH: "/usr/local/bin:/usr/bin:/bin" } };
  return user === undefined ? base : { ...base, uid: user.uid, gid: user.gid };
}

/** Tries as that user (mode bits alone do not tell: access lists, mounts) whether it can enter a directory. */
export function canEnter(user: ServerUser | undefined, directory: string): boolean {
  const script = 'cd "$1"';
  return (
    spawnSync("/bin/sh", ["-c", script, "sh", directory], { ...spawnIdentity(user), stdio: "ignore" })
      .status === 0
  );
}
