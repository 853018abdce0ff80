/**
 * Writes `--help` of every command and subcommand to test/golden/cli-help.txt; with `--print`, to standard output.
 * Nothing is opened: no service, no database.
 */
import { writeFileSync } from "node:fs";
import { runCommand } from "../src/cli/run-command.ts";

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  serve: [],
  doctor: [],
  client: ["create", "list", "show", "update", "rotate-secret", "revoke"],
  certify: ["start", "show", "report", "list", "end", "reference"],
  token: ["revoke"],
  key: ["list", "rotate", "revoke", "reseal"],
  pepper: ["status", "rotate", "retire"],
  "payload-key": ["list", "rotate"],
  operator: ["create", "list", "disable", "enable", "password"],
  label: ["list", "map", "unmap"],
  setting: ["list", "set", "unset"],
  webhook: [
    ...["create", "list", "show", "test", "pause", "resume", "rotate-secret", "dead-letters", "redrive"],
    "remove",
  ],
  quarantine: ["list", "release", "discard"],
  erasure: ["find", "run", "resume", "list", "certificate", "export", "import"],
  delete: ["property", "client"],
  backfill: ["list", "show", "gaps", "sign", "abandon"],
  retention: ["set", "unset", "list", "run"],
  replay: [],
  backup: [],
  restore: [],
  move: [],
  "leave-older-versions": [],
  "void-cursors": [],
  simulate: [],
  citus: ["distribute"],
  send: [],
  validate: [],
  watch: [],
};

const lines = Object.entries(COMMANDS).flatMap(([name, verbs]) => [
  [name],
  ...verbs.map((verb) => [name, verb]),
]);
const write = process.stdout.write.bind(process.stdout);
let text = "";
process.stdout.write = (chunk) => {
  text += String(chunk);
  return true;
};
for (const line of [[], ...lines]) {
  text += `### ${["bellhop", ...line, "--help"].join(" ")}\n`;
  const code = await runCommand([...line, "--help"], {});
  if (code !== 0) throw new Error(`bellhop ${line.join(" ")} --help exits with ${code}.`);
  text += "\n";
}
if (process.argv.includes("--print")) write(text);
else writeFileSync(new URL("../test/golden/cli-help.txt", import.meta.url), text);
