/** Writes `--help` of every command to test/golden/cli-help.txt; with `--print`, to standard output. */
import { writeFileSync } from "node:fs";
import { COMMANDS, runCommand } from "../src/cli.ts";

const commands: string[][] = [[]];
for (const { name, load } of COMMANDS)
  commands.push([name], ...Object.keys((await load()).verbs ?? {}).map((verb) => [name, verb]));

const lines: string[] = [];
for (const command of commands) {
  lines.push(`### ${["bellhop", ...command, "--help"].join(" ")}`);
  const code = await runCommand([...command, "--help"], {}, { out: (line) => void lines.push(line) });
  if (code !== 0) throw new Error(`bellhop ${command.join(" ")} --help exits with ${code}.`);
  lines.push("");
}
const text = `${lines.join("\n")}\n`;
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(new URL("../test/golden/cli-help.txt", import.meta.url), text);
