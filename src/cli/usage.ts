import { BellhopError } from "#client";
import { UsageError } from "./verb.ts";

/**
 * Runs a command that has no verbs: `--help` on standard output, a wrong line (2) and what cannot be done (1) in one line on standard
 * error. Whatever is none of these is thrown on.
 */
export async function usageOf(
  name: string,
  help: string,
  args: readonly string[],
  run: () => Promise<number>,
): Promise<number> {
  if (args.includes("--help")) {
    process.stdout.write(help);
    return 0;
  }
  try {
    return await run();
  } catch (error) {
    const isWrongLine =
      error instanceof UsageError ||
      (error instanceof BellhopError && error.exception === "client.InvalidOption");
    if (!isWrongLine && !(error instanceof BellhopError)) throw error;
    const see = isWrongLine ? ` See bellhop ${name} --help.` : "";
    process.stderr.write(`bellhop ${name}: ${error.message}${see}\n`);
    return isWrongLine ? 2 : 1;
  }
}
