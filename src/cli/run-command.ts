import { AuthInputError } from "../auth/admin.ts";
import { AuthSetupError } from "../auth/seal.ts";
import { ConfigError } from "../config.ts";
import { EmbeddedPostgresError } from "../db/embedded/server-user.ts";
import { MigrationError } from "../db/migrate.ts";
import { UnusableDatabaseError } from "../db/server-checks.ts";
import { clientCommand } from "./client-commands.ts";
import { keyCommand } from "./key-commands.ts";
import { quarantineCommand } from "./quarantine-command.ts";
import { replayCommand } from "./replay-command.ts";
import { serve } from "./serve-command.ts";
import { tokenCommand } from "./token-command.ts";

const HELP = `bellhop: hotel data ingestion

  serve [--no-sandbox]                         run the service
  client create|list|show|update|rotate-secret|revoke
                                               the partners' clients
  token ...                                    tokens for trying things out; token revoke
  key list|rotate                              the keys that sign tokens
  quarantine list|release|discard              records held aside
  replay [--swap]                              rebuild the state from the log and compare

Each takes --help, and most --json. The environment is that of the service: docs/configuration.md.
`;

type Command = (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = {
  serve,
  client: clientCommand,
  token: tokenCommand,
  key: keyCommand,
  quarantine: quarantineCommand,
  replay: replayCommand,
};

/** Errors whose message is for the operator as it is; anything else is a fault of ours and shows its stack. */
function isForOperator(error: unknown): error is Error {
  return [
    ConfigError,
    EmbeddedPostgresError,
    MigrationError,
    UnusableDatabaseError,
    AuthInputError,
    AuthSetupError,
  ].some((type) => error instanceof type);
}

/** What node:util's parseArgs complains of. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** Runs `bellhop <command> …`; answers the exit code: 0 done, 1 it could not be done, 2 the command line is wrong. */
export async function runCommand(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === "help" || name === "--help") {
    process.stdout.write(HELP);
    return name === undefined ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    process.stderr.write(`There is no command ${JSON.stringify(name)}.\n\n${HELP}`);
    return 2;
  }
  try {
    return await command(args, environment);
  } catch (error) {
    if (isUsageError(error)) {
      process.stderr.write(`bellhop ${name}: ${error.message}\n`);
      return 2;
    }
    process.stderr.write(
      isForOperator(error)
        ? `bellhop: ${error.message}\n`
        : `bellhop: ${String(error instanceof Error ? error.stack : error)}\n`,
    );
    return 1;
  }
}
