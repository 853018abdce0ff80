import { text as textOf } from "node:stream/consumers";
import { flag, type Noun, required, text, type Verb, verb } from "../../cli/command.ts";
import { moment, table } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import {
  createOperator,
  disableOperator,
  listOperators,
  newPassword,
  type OperatorAdmin,
  setOperatorPassword,
} from "../operators.ts";

const PASSWORD_BYTES_MAX = 4_096;
const NAME = required(text("NAME", "the operator's name"));

/** The password of standard input, without the newline that an editor or echo puts behind it. */
async function readPassword(): Promise<string> {
  const given = await textOf(process.stdin);
  if (given.length > PASSWORD_BYTES_MAX)
    throw new UsageError(`Standard input is longer than a password (${PASSWORD_BYTES_MAX} bytes).`);
  return given.replace(/\r?\n$/, "");
}

/** A verb that gives an operator a password: the one of standard input, else a generated one that is shown once. */
function passwordVerb(
  name: string,
  summary: string,
  done: string,
  give: (admin: OperatorAdmin, name: string, password: string) => Promise<void>,
): Verb {
  return verb({
    summary,
    args: { name: NAME },
    options: { passwordStdin: flag("read the password from standard input instead of generating one") },
    examples: [`operator ${name} anna`, `operator ${name} anna --password-stdin < password.txt`],
    json: '{"name", "password"}; without "password" under --password-stdin',
    run: async ({ name: operator, passwordStdin }, { output, session }) => {
      const password = passwordStdin ? await readPassword() : newPassword();
      await session.database(({ pool, who }) => give({ pool, who }, operator, password));
      output.result(
        { name: operator, ...(passwordStdin ? {} : { password }) },
        passwordStdin ? done : `${done} The password is shown once:\n\n  ${password}\n`,
      );
    },
  });
}

const list = verb({
  summary: "list operators",
  examples: ["operator list"],
  json: '{"operators": [{"name", "createdAt", "passwordChangedAt", "lastLoginAt", "disabledAt"}]}',
  run: (_, { output, session }) =>
    session.database(async ({ pool, who }) => {
      const operators = await listOperators({ pool, who });
      const rows = operators.map(({ name, disabledAt, lastLoginAt, passwordChangedAt }) => [
        name,
        disabledAt === null ? "active" : "disabled",
        moment(lastLoginAt),
        moment(passwordChangedAt),
      ]);
      const empty = "No operators. Create one to log in to the console: bellhop operator create NAME";
      output.result({ operators }, table(["NAME", "STATE", "LAST LOGIN", "PASSWORD SINCE"], rows, empty));
    }),
});

function switchVerb(name: string, isDisabled: boolean, summary: string, done: string): Verb {
  return verb({
    summary,
    args: { name: NAME },
    examples: [`operator ${name} anna`],
    run: async ({ name: operator }, { output, session }) => {
      await session.database(({ pool, who }) => disableOperator({ pool, who }, operator, isDisabled));
      output.line(`${operator} ${done}`);
    },
  });
}

export const command: Noun = {
  verbs: {
    create: passwordVerb("create", "create an operator", "Operator created.", createOperator),
    list,
    disable: switchVerb(
      "disable",
      true,
      "end an operator's sessions and refuse logins",
      "cannot log in any more; every session was ended.",
    ),
    enable: switchVerb("enable", false, "let a disabled operator log in again", "can log in again."),
    password: passwordVerb(
      "password",
      "set an operator's password and end the sessions",
      "Password changed; every session was ended.",
      setOperatorPassword,
    ),
  },
};
