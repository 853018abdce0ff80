import { text as textOf } from "node:stream/consumers";
import {
  type CommandContext,
  choice,
  flag,
  type Noun,
  required,
  text,
  texts,
  type Verb,
  verb,
} from "../../cli/command.ts";
import { type Columns, itemTable } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import {
  createOperator,
  disableOperator,
  enableOperator,
  listOperators,
  type OperatorAdmin,
  type OperatorSummary,
  removeOperator,
  setOperatorAccount,
  setOperatorPassword,
  setOperatorRights,
} from "../operators.ts";
import { newPassword } from "../passwords.ts";
import { ROLES } from "../roles.ts";
import { EVERYTHING } from "../scope.ts";
import { resetTotp as resetOperatorTotp } from "../second-factor.ts";

const PASSWORD_BYTES_MAX = 4_096;
const NAME = required(text("NAME", "the operator's name"));

/** The password on standard input, without the trailing newline of an editor or echo. */
async function readPassword(): Promise<string> {
  const given = await textOf(process.stdin);
  if (given.length > PASSWORD_BYTES_MAX)
    throw new UsageError(`Standard input is longer than a password (${PASSWORD_BYTES_MAX} bytes).`);
  return given.replace(/\r?\n$/, "");
}

const RIGHTS = {
  role: choice("ROLE", ROLES, "what the operator may do"),
  grant: texts("CLIENTCODE/PROPERTYCODE|*", `properties the operator sees and changes; ${EVERYTHING} is all`),
};
/** Without --grant, grants are unchanged, or the default. */
const grantsOf = (grants: string[]) => (grants.length === 0 ? undefined : grants);
const EMAIL = text("EMAIL", "the address with which the operator logs in at the OpenID Connect provider");
const PASSWORD_STDIN = flag("read the password from standard input instead of generating one");
const NAME_JSON = '{"name"}';
const PASSWORD_JSON = '{"name", "password"}; without "password" under --password-stdin';

/** Sets the password from standard input, or a generated one that is shown once. */
async function givePassword(
  { output, session }: CommandContext,
  { name, passwordStdin }: { readonly name: string; readonly passwordStdin: boolean },
  done: string,
  give: (admin: OperatorAdmin, password: string) => Promise<void>,
): Promise<void> {
  const password = passwordStdin ? await readPassword() : newPassword();
  await session.database((admin) => give(admin, password));
  output.result(
    { name, ...(passwordStdin ? {} : { password }) },
    passwordStdin ? done : `${done} The password is shown once:\n\n  ${password}\n`,
  );
}

const create = verb({
  summary: "create an operator of the console; the first one is an admin of everything",
  args: { name: NAME },
  options: { ...RIGHTS, email: EMAIL, passwordStdin: PASSWORD_STDIN },
  examples: [
    "operator create anna",
    'operator create berta --role revenue --grant "ACME/*" --grant SEASIDE/LON01',
    `operator create carl --role viewer --grant "${EVERYTHING}" --password-stdin < password.txt`,
  ],
  json: PASSWORD_JSON,
  run: (given, context) =>
    givePassword(context, given, "Operator created.", (admin, password) => {
      const { name, role, grant, email } = given;
      return createOperator(admin, name, password, { role, grants: grantsOf(grant), email });
    }),
});

const setPassword = verb({
  summary: "set an operator's password and end the sessions",
  args: { name: NAME },
  options: { passwordStdin: PASSWORD_STDIN },
  examples: ["operator password anna", "operator password anna --password-stdin < password.txt"],
  json: PASSWORD_JSON,
  run: (given, context) =>
    givePassword(context, given, "Password changed; every session was ended.", (admin, password) =>
      setOperatorPassword(admin, given.name, password),
    ),
});

const set = verb({
  summary: "change an operator's role and grants, from the next request on, or how the operator logs in",
  args: { name: NAME },
  options: {
    ...RIGHTS,
    email: EMAIL,
    subject: text(
      "SUB",
      "the account's subject (`sub`) at the OpenID Connect provider, if it verifies no email addresses",
    ),
    resetTotp: flag("remove the authenticator app: login needs no code"),
  },
  examples: [
    "operator set anna --role viewer",
    'operator set berta --grant "ACME/*"',
    "operator set anna --reset-totp",
    "operator set carl --email carl@hotel.example",
  ],
  json: NAME_JSON,
  check: ({ role, grant, email, subject, resetTotp }) => {
    if ((role ?? grant[0] ?? email ?? subject) === undefined && !resetTotp)
      throw new UsageError("Name --role, --grant, --email, --subject or --reset-totp.");
  },
  async database({ name, role, grant, email, subject, resetTotp }, admin, { output }) {
    const issuer = subject === undefined ? undefined : admin.config.singleSignOn?.issuer;
    if (subject !== undefined && issuer === undefined)
      throw new UsageError("CONSOLE_OIDC_ISSUER is not set.");
    if ((role ?? grant[0]) !== undefined)
      await setOperatorRights(admin, name, { role, grants: grantsOf(grant) });
    if ((email ?? subject) !== undefined) await setOperatorAccount(admin, name, { email, issuer, subject });
    if (resetTotp) await resetOperatorTotp(admin, name);
    output.result({ name }, `${name} was changed.`);
  },
});

const remove = verb({
  summary: "remove an operator and end the sessions; the audit keeps the name",
  args: { name: NAME },
  examples: ["operator remove anna"],
  json: NAME_JSON,
  async database({ name }, admin, { output }) {
    await removeOperator(admin, name);
    output.result({ name }, `${name} was removed.`);
  },
});

const list = verb({
  summary: "list operators",
  examples: ["operator list"],
  json: '{"operators": [{"name", "role", "grants", "email", "isBound", "hasPassword", "hasTotp", "createdAt", "passwordChangedAt", "lastLoginAt", "disabledAt"}]}',
  async database(_, { pool }, { output }) {
    const operators = await listOperators(pool);
    const columns: Columns<OperatorSummary> = {
      NAME: "name",
      ROLE: "role",
      GRANTS: ({ grants }) => (grants.length > 3 ? `${grants.length} grants` : grants.join(" ")),
      STATE: ({ disabledAt }) => (disabledAt === null ? "active" : "disabled"),
      "LAST LOGIN": "lastLoginAt",
      "PASSWORD SINCE": "passwordChangedAt",
    };
    const empty = "No operators. Create one to log in to the console: bellhop operator create NAME";
    output.result({ operators }, itemTable(columns, operators, empty));
  },
});

function switchVerb(name: string, change: typeof disableOperator, summary: string, done: string): Verb {
  return verb({
    summary,
    args: { name: NAME },
    examples: [`operator ${name} anna`],
    json: NAME_JSON,
    async database({ name: operator }, admin, { output }) {
      await change(admin, operator);
      output.result({ name: operator }, `${operator} ${done}`);
    },
  });
}

export const command: Noun = {
  verbs: {
    create,
    list,
    disable: switchVerb(
      "disable",
      disableOperator,
      "end an operator's sessions and refuse logins",
      "cannot log in any more; every session was ended.",
    ),
    enable: switchVerb("enable", enableOperator, "let a disabled operator log in again", "can log in again."),
    password: setPassword,
    remove,
    set,
  },
};
