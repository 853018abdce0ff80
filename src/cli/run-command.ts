import { flushCompileCache } from "node:module";
import { complaintOf } from "./complaint.ts";

const HELP = `bellhop: hotel data ingestion

  serve [--role ROLES] [--workers N]           run the service
  doctor [--json]                              what is wrong with this installation, and what to do about it
  client create|list|show|update|rotate-secret|revoke
                                               the partners' clients
  certify start|show|report|list|end|reference
                                               whether a partner's integration does all it should
  token ...                                    tokens for trying things out; token revoke
  key list|rotate|revoke|reseal                the keys that sign tokens, and what keeps them
  pepper status|rotate|retire                  what clients' secrets are digested with
  payload-key list|rotate                      what stored batches are sealed with
  operator create|list|disable|enable|password
                                               who may log in to the console
  label list|map|unmap                         what the hotels' status labels mean
  setting list|set|unset                       time zone, business day, currency … of client codes and properties
  webhook create|list|show|test|pause|resume|rotate-secret|dead-letters|redrive|remove
                                               where partners are told what happened
  quarantine list|release|discard              records held aside
  erasure find|run|resume|list|certificate|export|import
                                               guests who ask to be forgotten
  delete property|client                       all that is kept of a hotel, or of a hotel group
  backfill list|show|gaps|sign|abandon         cold starts as sessions
  retention set|unset|list|run                 how long payloads, outcomes and versions are kept
  replay [--swap]                              rebuild the state from the log and compare
  backup FILE|DIRECTORY|-                      a consistent copy of the service's data, while it runs
  restore FILE                                 an empty database is filled from a backup, and compared
  move --to DATABASE_URL                       everything into another database, compared
  void-cursors                                 after a recovery by other tools: the change feed begins anew
  simulate [--faults LIST] [--out DIR|-]       a made-up hotel group, day by day: sent to a service, or to files
  citus distribute                             spread the tables by bucket over the workers of Citus
  send FILE|-                                  for partners: send a file of records, and what became of them
  validate FILE|-                              for partners: check a file of records offline
  watch REQUEST_ID | --changes                 for partners: follow a request, or the change feed

Each takes --help, and most --json. The environment is that of the service: docs/configuration.md.
`;

type Command = (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;

/** Each is loaded only when it is asked for: `--help` needs none of what makes a service. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve-command.ts")).serve,
  doctor: async () => (await import("./doctor-command.ts")).doctorCommand,
  client: async () => (await import("./client-commands.ts")).clientCommand,
  certify: async () => (await import("./certify-command.ts")).certifyCommand,
  token: async () => (await import("./token-command.ts")).tokenCommand,
  key: async () => (await import("./key-commands.ts")).keyCommand,
  pepper: async () => (await import("./pepper-command.ts")).pepperCommand,
  "payload-key": async () => (await import("./payload-key-command.ts")).payloadKeyCommand,
  operator: async () => (await import("./operator-command.ts")).operatorCommand,
  label: async () => (await import("./label-command.ts")).labelCommand,
  setting: async () => (await import("./setting-command.ts")).settingCommand,
  quarantine: async () => (await import("./quarantine-command.ts")).quarantineCommand,
  webhook: async () => (await import("./webhook-command.ts")).webhookCommand,
  backfill: async () => (await import("./backfill-command.ts")).backfillCommand,
  erasure: async () => (await import("./erasure-command.ts")).erasureCommand,
  delete: async () => (await import("./delete-command.ts")).deleteCommand,
  retention: async () => (await import("./retention-command.ts")).retentionCommand,
  replay: async () => (await import("./replay-command.ts")).replayCommand,
  backup: async () => (await import("./backup-command.ts")).backupCommand,
  restore: async () => (await import("./restore-command.ts")).restoreCommand,
  move: async () => (await import("./move-command.ts")).moveCommand,
  "void-cursors": async () => (await import("./void-cursors-command.ts")).voidCursorsCommand,
  simulate: async () => (await import("./simulate-command.ts")).simulateCommand,
  citus: async () => (await import("./citus-command.ts")).citusCommand,
  send: async () => (await import("./send-command.ts")).sendCommand,
  validate: async () => (await import("./validate-command.ts")).validateCommand,
  watch: async () => (await import("./watch-command.ts")).watchCommand,
};

/** What is wrong with a line that node:util's parseArgs has refused; undefined for any other error. */
function usageMessage(error: unknown): string | undefined {
  const isUsage =
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isUsage ? complaintOf(error) : undefined;
}

/** Runs `bellhop <command> …`; answers the exit code: 0 done, 1 it could not be done, 2 the command line is wrong. */
export async function runCommand(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [name, ...args] = argv;
  if (name === "help" || name === "--help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (name === undefined) {
    process.stderr.write(HELP);
    return 2;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    process.stderr.write(`There is no command ${JSON.stringify(name)}.\n\n${HELP}`);
    return 2;
  }
  try {
    const command = await load();
    // What was compiled is written for the next process; once it is written this takes no time.
    flushCompileCache();
    return await command(args, environment);
  } catch (error) {
    const wrongLine = usageMessage(error);
    if (wrongLine !== undefined) {
      process.stderr.write(`bellhop ${name}: ${wrongLine} See bellhop ${name} --help.\n`);
      return 2;
    }
    const { operatorMessage } = await import("./operator-error.ts");
    const stack = String(error instanceof Error ? error.stack : error);
    process.stderr.write(`bellhop: ${operatorMessage(error, environment) ?? stack}\n`);
    return 1;
  }
}
