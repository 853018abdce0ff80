import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** What one command line printed, and its exit code. */
export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Standard error without the lines of progress, which a command writes when it takes its second. */
export function withoutProgress(err: string): string {
  return err.replace(/^bellhop [a-z -]+: (.* {2}\d+ (s|min)\b.*|waiting.*)(\n|$)/gm, "");
}

const RUN_LINES = `
  const { runCommand } = await import(process.argv[1]);
  const write = process.stdout.write.bind(process.stdout);
  const answers = [];
  const kept = {};
  for (const line of JSON.parse(process.argv[2])) {
    const argv = line.map((word) => word.replace(/<(\\w+)>/g, (_, name) => kept[name]));
    const answer = { code: 0, out: "", err: "" };
    process.stdout.write = (text, done) => { answer.out += text; if (typeof done === "function") done(); return true; };
    process.stderr.write = (text) => { answer.err += text; return true; };
    answer.code = await runCommand(argv, process.env);
    try {
      for (const [name, value] of Object.entries(JSON.parse(answer.out))) kept[name] = value ?? kept[name];
    } catch {}
    answers.push(answer);
  }
  write(JSON.stringify(answers));
`;

/**
 * Runs command lines one after another in a process of their own, which loads the program once. A word `<name>` stands for the
 * field of that name in the JSON objects printed so far.
 */
export async function runLines(
  lines: readonly (readonly string[])[],
  environment: NodeJS.ProcessEnv,
): Promise<Answer[]> {
  const module = new URL("../../src/cli.ts", import.meta.url).href;
  const child = spawn(
    process.execPath,
    ["--input-type=module", "--eval", RUN_LINES, module, JSON.stringify(lines)],
    { env: environment, stdio: ["ignore", "pipe", "inherit"] },
  );
  const answers = JSON.parse(await text(child.stdout)) as Answer[];
  return answers.map(({ code, out, err }) => ({ code, out, err: withoutProgress(err) }));
}
