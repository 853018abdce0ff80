import { readFileSync } from "node:fs";
import { OperatorError } from "../errors/operator-error.ts";

/** A service without requests has 52 files open on two cores; more threads, pools and connections of clients need the rest. */
const FILES_MIN = 256;
/** Room for thousands of connections. */
const FILES_ADVISED = 4_096;

/** The limit of this process, which Node has raised as far as it may; undefined if unknown. */
function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/** Throws OperatorError if the service could not open its files, which otherwise ends a thread without a reason. */
export function requireOpenFiles(): void {
  const limit = openFilesLimit();
  if (limit === undefined || limit >= FILES_MIN) return;
  throw new OperatorError(
    `This process may open ${limit} files, and the service needs at least ${FILES_MIN}: raise the limit to ${FILES_ADVISED} or more ` +
      "(ulimit -n, LimitNOFILE of systemd, --ulimit nofile of a container).",
  );
}
