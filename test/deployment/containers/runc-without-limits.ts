/** runc for a root that may not set resource limits: removes them from the container's description first. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface ProcessSettings {
  rlimits?: unknown;
}

const args = process.argv.slice(2);
const bundle = argumentAfter("--bundle", "-b");
const processFile = argumentAfter("--process", "-p");
if (bundle !== undefined)
  edit(
    join(bundle, "config.json"),
    ({ process: settings }: { process?: ProcessSettings }) => delete settings?.rlimits,
  );
if (processFile !== undefined) edit(processFile, (settings: ProcessSettings) => delete settings.rlimits);
process.exitCode = spawnSync("runc", args, { stdio: "inherit" }).status ?? 1;

function argumentAfter(...names: string[]): string | undefined {
  for (const [at, argument] of args.entries()) {
    if (names.includes(argument)) return args[at + 1];
    const [name = "", value] = argument.split("=");
    if (names.includes(name) && value !== undefined) return value;
  }
  return undefined;
}

function edit<Content>(path: string, change: (content: Content) => void): void {
  if (!existsSync(path)) return;
  const content = JSON.parse(readFileSync(path, "utf8")) as Content;
  change(content);
  writeFileSync(path, JSON.stringify(content));
}
