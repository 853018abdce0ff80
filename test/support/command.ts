import { runCommand } from "../../src/cli.ts";
import type { AuthAdmin } from "../../src/identity/admin.ts";
import { type Answer, withoutProgress } from "./command-lines.ts";

/** Runs `bellhop ...` in this process. `admin`: of a running service, in the place of an opened database. */
export async function bellhop(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
  admin?: AuthAdmin,
): Promise<Answer> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommand(words, environment, {
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    ...(admin === undefined ? {} : { admin }),
  });
  return { code, out: out.join("\n"), err: withoutProgress(err.join("\n")) };
}
