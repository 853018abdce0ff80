import { flushCompileCache } from "node:module";
import manifest from "../package.json" with { type: "json" };
import type { CommandEntry, Noun, Verb } from "./cli/command.ts";
import { askAtTerminal, fields, Output, printableLines, SHELL, type Streams } from "./cli/output.ts";
import { Progress } from "./cli/progress.ts";
import type { AuthAdmin } from "./identity/admin.ts";
import type { UsageError } from "./platform/errors/operator-error.ts";

type Entry = readonly [summary: string, load: () => Promise<{ readonly command: Noun }>];

/** Commands by topic, each loaded on demand. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  "Run and inspect the service": {
    serve: ["run the service", () => import("./service/cli.ts")],
    doctor: ["check the installation and say what to fix", () => import("./operations/cli/doctor.ts")],
    setting: [
      "time zone, business day, currency ... of client codes and properties",
      () => import("./settings/cli/setting.ts"),
    ],
    label: ["map the hotels' reservation and group statuses", () => import("./settings/cli/status.ts")],
    quarantine: ["list, release or discard quarantined records", () => import("./query/cli/quarantine.ts")],
    backfill: ["initial data loads: progress, gaps, sign-off", () => import("./backfill/cli.ts")],
    webhook: ["webhook endpoints, deliveries and dead letters", () => import("./webhooks/cli.ts")],
    certify: ["certify a partner's integration", () => import("./certification/cli.ts")],
  },
  "Clients, keys and operators": {
    client: ["API clients: credentials, grants, scopes, limits", () => import("./identity/cli/client.ts")],
    token: ["print, issue or revoke an access token", () => import("./partner/cli/token.ts")],
    operator: ["operators of the console", () => import("./identity/cli/operator.ts")],
    subscription: ["daily reports and alerts that operators get", () => import("./delivery/cli.ts")],
    key: ["keys that sign tokens", () => import("./identity/cli/key.ts")],
    pepper: ["peppers that client secrets are hashed with", () => import("./identity/cli/pepper.ts")],
    "payload-key": [
      "keys that stored payloads are encrypted with",
      () => import("./operations/cli/payload-key.ts"),
    ],
  },
  "Privacy and retention": {
    retention: ["how long payloads, outcomes and versions are kept", () => import("./retention/cli.ts")],
    erasure: ["erase guests' personal data", () => import("./privacy/cli/erasure.ts")],
    delete: ["delete all data of a property or a client code", () => import("./privacy/cli/delete.ts")],
  },
  Database: {
    backup: ["write a consistent backup while the service runs", () => import("./operations/cli/backup.ts")],
    restore: [
      "fill an empty database from a backup, or check a backup",
      () => import("./operations/cli/restore.ts"),
    ],
    export: [
      "export records, versions, nights, blocks and outcomes to files",
      () => import("./export/cli.ts"),
    ],
    move: ["move all data to another database", () => import("./operations/cli/move.ts")],
    replay: ["rebuild the state from the log and compare", () => import("./apply/cli/replay.ts")],
    "void-cursors": [
      "invalidate change feed cursors after a recovery by other tools",
      () => import("./operations/cli/void-cursors.ts"),
    ],
    citus: ["distribute the tables over Citus workers", () => import("./operations/cli/citus.ts")],
  },
  "For partners": {
    send: ["send files of records and report their outcomes", () => import("./partner/cli/send.ts")],
    validate: ["check a file of records offline", () => import("./partner/cli/validate.ts")],
    template: ["print a CSV template of a resource", () => import("./partner/cli/template.ts")],
    watch: ["follow a request or the change feed", () => import("./partner/cli/watch.ts")],
    simulate: [
      "simulate a hotel group: send its records or write them to files",
      () => import("./partner/cli/simulate.ts"),
    ],
  },
  Shell: {
    completion: [
      "print a completion script for bash, zsh or fish",
      () => import("./cli/commands/completion.ts"),
    ],
  },
};

/** Every command in the order of help. */
export const COMMANDS: readonly CommandEntry[] = Object.values(GROUPS).flatMap((group) =>
  Object.entries(group).map(([name, [summary, load]]) => ({
    name,
    summary,
    load: async () => (await load()).command,
  })),
);

function rootHelp(): string[] {
  const lines = fields(COMMANDS.map(({ name, summary }) => [name, summary]));
  const listed = Object.entries(GROUPS).flatMap(([title, group]) => [
    `${title}:`,
    ...lines.splice(0, Object.keys(group).length),
    "",
  ]);
  return [
    "Usage: bellhop COMMAND [options]",
    "",
    ...listed,
    "Examples:",
    "  bellhop serve",
    '  bellhop client create --name "Acme PMS" --grant "ACME/*"',
    "  bellhop client --help",
    "",
    "Every command takes --help, and all but serve and completion --json; bellhop --version prints the version. Settings come from the environment (docs/configuration.md).",
  ];
}

/** Test replacements for the shell and the running service. */
export interface Surroundings extends Partial<Streams> {
  readonly admin?: AuthAdmin;
}

/** Runs `bellhop ...`. Returns the exit code: 0 success, 1 failure, 2 usage error; some commands have more. */
export async function runCommand(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
  { admin, ...streams }: Surroundings = {},
): Promise<number> {
  const isTerminal = streams.err === undefined && process.stderr.isTTY === true;
  const ask = isTerminal && process.stdin.isTTY === true ? askAtTerminal : undefined;
  const shell = { ...SHELL, ask, ...streams };
  const words = withoutHelpWord(argv);
  if (words[0] === undefined || isHelp(words[0])) {
    for (const line of rootHelp()) (words[0] === undefined ? shell.err : shell.out)(line);
    return words[0] === undefined ? 2 : 0;
  }
  if (words[0] === "--version") {
    shell.out(`bellhop ${manifest.version}`);
    return 0;
  }
  const path = ["bellhop"];
  try {
    const found = await findVerb(words, path);
    const asksHelp = found.words.slice(0, endOfOptions(found.words)).some(isHelp);
    if (found.verb === undefined || asksHelp) {
      (asksHelp ? shell.out : shell.err)(await helpOf(path, found));
      return asksHelp ? 0 : 2;
    }
    const { parseLine } = await import("./cli/parse-line.ts");
    const values = parseLine(path.join(" "), found.verb, found.words);
    const json = values["json"] === true;
    const { Session } = await import("./cli/session.ts");
    const { registerPayloadKeys } = await import("./ingest/log/payload-keys.ts");
    // Write the compile cache for the next process; takes no time if it is written already.
    flushCompileCache();
    const progress = new Progress(shell, isTerminal);
    const output = new Output(shell, json, () => progress.clear());
    const session = new Session(environment, progress, registerPayloadKeys);
    if (admin !== undefined) (await import("./identity/cli/administer.ts")).administerRunning(session, admin);
    progress.begin(path.join(" "), found.verb.summary);
    try {
      const code = await found.verb.run(values, { output, progress, session, commands: COMMANDS, json });
      return typeof code === "number" ? code : 0;
    } finally {
      progress.end();
    }
  } catch (error) {
    const { failureOf } = await import("./cli/failure-text.ts");
    const { message, exitCode, isUsage } = failureOf(error, environment);
    const line = path.join(" ");
    shell.err(printableLines(isUsage ? `${line}: ${message} See ${line} --help.` : `bellhop: ${message}`));
    return exitCode;
  }
}

const isHelp = (word: string): boolean => word === "--help" || word === "-h";

function endOfOptions(words: readonly string[]): number {
  const end = words.indexOf("--");
  return end < 0 ? words.length : end;
}

/** Rewrites `help client` as `client --help`. */
function withoutHelpWord(words: readonly string[]): readonly string[] {
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}

interface Found {
  readonly entry: CommandEntry;
  readonly noun: Noun;
  /** Undefined if the line names no verb. */
  readonly verb: Verb | undefined;
  readonly words: readonly string[];
}

/** Finds the verb and appends its names to `path`. Throws UsageError. */
async function findVerb([first = "", ...rest]: readonly string[], path: string[]): Promise<Found> {
  const entry = COMMANDS.find(({ name }) => name === first);
  if (entry === undefined)
    throw await unknown(
      path,
      first,
      COMMANDS.map(({ name }) => name),
    );
  path.push(first);
  const noun = await entry.load();
  const { verbs = {}, own } = noun;
  const words = own === undefined ? withoutHelpWord(rest) : rest;
  const [name, ...given] = words;
  if (name !== undefined && Object.hasOwn(verbs, name)) {
    path.push(name);
    return { entry, noun, verb: verbs[name], words: given };
  }
  const isNamed = own === undefined && name !== undefined && !isHelp(name);
  if (isNamed) throw await unknown(path, name, Object.keys(verbs));
  return { entry, noun, verb: own, words };
}

async function helpOf(path: readonly string[], { entry, noun, verb }: Found): Promise<string> {
  const { helpOfNoun, helpOfVerb } = await import("./cli/parse-line.ts");
  const line = path.join(" ");
  const isNoun = noun.verbs !== undefined && (verb === undefined || verb === noun.own);
  return isNoun || verb === undefined ? helpOfNoun(line, entry.summary, noun) : helpOfVerb(line, verb);
}

async function unknown(path: readonly string[], word: string, names: readonly string[]): Promise<UsageError> {
  const { unknownCommand } = await import("./cli/parse-line.ts");
  return unknownCommand(path.join(" "), word, names);
}
