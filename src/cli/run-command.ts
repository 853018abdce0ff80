import { backfillCommand } from "./backfill-command.ts";
import { backupCommand } from "./backup-command.ts";
import { certifyCommand } from "./certify-command.ts";
import { citusCommand } from "./citus-command.ts";
import { clientCommand } from "./client-commands.ts";
import { deleteCommand } from "./delete-command.ts";
import { doctorCommand } from "./doctor-command.ts";
import { erasureCommand } from "./erasure-command.ts";
import { keyCommand } from "./key-commands.ts";
import { labelCommand } from "./label-command.ts";
import { moveCommand } from "./move-command.ts";
import { operatorCommand } from "./operator-command.ts";
import { operatorMessage } from "./operator-error.ts";
import { payloadKeyCommand } from "./payload-key-command.ts";
import { pepperCommand } from "./pepper-command.ts";
import { quarantineCommand } from "./quarantine-command.ts";
import { replayCommand } from "./replay-command.ts";
import { restoreCommand } from "./restore-command.ts";
import { retentionCommand } from "./retention-command.ts";
import { sendCommand } from "./send-command.ts";
import { serve } from "./serve-command.ts";
import { settingCommand } from "./setting-command.ts";
import { simulateCommand } from "./simulate-command.ts";
import { tokenCommand } from "./token-command.ts";
import { validateCommand } from "./validate-command.ts";
import { watchCommand } from "./watch-command.ts";
import { webhookCommand } from "./webhook-command.ts";

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
  simulate [--faults LIST] [--out DIR|-]       a made-up hotel group, day by day: sent to a service, or to files
  citus distribute                             spread the tables by bucket over the workers of Citus
  send FILE|-                                  for partners: send a file of records, and what became of them
  validate FILE|-                              for partners: check a file of records offline
  watch REQUEST_ID | --changes                 for partners: follow a request, or the change feed

Each takes --help, and most --json. The environment is that of the service: docs/configuration.md.
`;

type Command = (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = {
  serve,
  doctor: doctorCommand,
  client: clientCommand,
  certify: certifyCommand,
  token: tokenCommand,
  key: keyCommand,
  pepper: pepperCommand,
  "payload-key": payloadKeyCommand,
  operator: operatorCommand,
  label: labelCommand,
  setting: settingCommand,
  quarantine: quarantineCommand,
  webhook: webhookCommand,
  backfill: backfillCommand,
  erasure: erasureCommand,
  delete: deleteCommand,
  retention: retentionCommand,
  replay: replayCommand,
  backup: backupCommand,
  restore: restoreCommand,
  move: moveCommand,
  simulate: simulateCommand,
  citus: citusCommand,
  send: sendCommand,
  validate: validateCommand,
  watch: watchCommand,
};

/** What node:util's parseArgs complains of. Its first sentence says it; the others are about quoting. */
function usageMessage(error: unknown): string | undefined {
  const isUsage =
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isUsage ? `${error.message.split(". ", 1)[0]}.` : undefined;
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
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    process.stderr.write(`There is no command ${JSON.stringify(name)}.\n\n${HELP}`);
    return 2;
  }
  try {
    return await command(args, environment);
  } catch (error) {
    const wrongLine = usageMessage(error);
    if (wrongLine !== undefined) {
      process.stderr.write(`bellhop ${name}: ${wrongLine} See bellhop ${name} --help.\n`);
      return 2;
    }
    const stack = String(error instanceof Error ? error.stack : error);
    process.stderr.write(`bellhop: ${operatorMessage(error, environment) ?? stack}\n`);
    return 1;
  }
}
