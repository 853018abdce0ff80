/** What a shell expects of whom SIGPIPE ended; Node ignores that signal. */
const NOBODY_READS = 141;

/** A reader that has seen enough (`bellhop watch --changes | head`) ends a command, and needs no stack trace. For a process that is one command. */
export function endWhenNobodyReads(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(NOBODY_READS);
  });
}
