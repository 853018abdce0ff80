import { text } from "node:stream/consumers";
import {
  createOperator,
  disableOperator,
  listOperators,
  type OperatorAdmin,
  setOperatorPassword,
} from "../auth/operator-admin.ts";
import { newPassword } from "../auth/password.ts";
import { openForCommand } from "./open-for-command.ts";
import { momentText, tableLines } from "./text-output.ts";
import {
  JSON_OPTION,
  readArgs,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type Verbs,
} from "./verb.ts";

const PASSWORD_BYTES_MAX = 4_096;

const OPTIONS = {
  "password-stdin": { type: "boolean", default: false },
  ...JSON_OPTION,
} as const;

function withOperators(
  environment: NodeJS.ProcessEnv,
  work: (admin: OperatorAdmin) => Promise<number>,
): Promise<number> {
  return openForCommand(environment, ({ database, who }) => work({ pool: database.pool, who }));
}

/** The password of standard input, without the newline that an editor or echo puts behind it. */
async function readPassword(): Promise<string> {
  const given = await text(process.stdin);
  if (given.length > PASSWORD_BYTES_MAX)
    throw new UsageError("There is more than a password on standard input.");
  return given.replace(/\r?\n$/, "");
}

/** A verb that gives an operator a password: the one of standard input, else one that is made and shown once. */
function passwordVerb(
  environment: NodeJS.ProcessEnv,
  usage: string,
  done: string,
  give: (admin: OperatorAdmin, name: string, password: string) => Promise<void>,
): Verb {
  return {
    usage: `${usage} NAME [--password-stdin] [--json]`,
    async run(args, { out }) {
      const { values, positionals } = readArgs({
        args: [...args],
        options: OPTIONS,
        allowPositionals: true,
      });
      const name = readOne("operator's name", positionals);
      const isGiven = values["password-stdin"];
      const password = isGiven ? await readPassword() : newPassword();
      return withOperators(environment, async (admin) => {
        await give(admin, name, password);
        if (values.json) out(JSON.stringify({ name, ...(isGiven ? {} : { password }) }));
        else if (isGiven) out(done);
        else out(`${done} The password is shown now and never again:\n\n  ${password}\n`);
        return 0;
      });
    },
  };
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop operator list [--json]",
    async run(args, { out }) {
      const { values } = readArgs({ args: [...args], options: { json: OPTIONS.json } });
      return withOperators(environment, async (admin) => {
        const operators = await listOperators(admin);
        if (values.json) out(JSON.stringify({ operators }));
        else if (operators.length === 0)
          out("There is no operator yet. `bellhop operator create NAME` makes one, for the console.");
        else {
          const rows = operators.map(({ name, disabledAt, lastLoginAt, passwordChangedAt }) => [
            name,
            disabledAt === null ? "active" : "disabled",
            momentText(lastLoginAt),
            momentText(passwordChangedAt),
          ]);
          for (const line of tableLines(["NAME", "STATE", "LAST LOGIN", "PASSWORD SINCE"], rows)) out(line);
        }
        return 0;
      });
    },
  };
}

function able(environment: NodeJS.ProcessEnv, verb: "disable" | "enable"): Verb {
  return {
    usage: `bellhop operator ${verb} NAME`,
    async run(args, { out }) {
      const { positionals } = readArgs({ args: [...args], options: {}, allowPositionals: true });
      const name = readOne("operator's name", positionals);
      return withOperators(environment, async (admin) => {
        await disableOperator(admin, name, verb === "disable");
        out(
          verb === "disable"
            ? `${name} cannot log in any more; every session was ended.`
            : `${name} can log in again.`,
        );
        return 0;
      });
    },
  };
}

/** `bellhop operator create|list|disable|enable|password`: who may log in to the console. Answers the exit code. */
export function operatorCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const verbs: Verbs = {
    create: passwordVerb(environment, "bellhop operator create", "Created the operator.", createOperator),
    list: list(environment),
    disable: able(environment, "disable"),
    enable: able(environment, "enable"),
    password: passwordVerb(
      environment,
      "bellhop operator password",
      "Changed the password; every session was ended.",
      setOperatorPassword,
    ),
  };
  return runVerb("operator", verbs, args, shellContext(environment));
}
