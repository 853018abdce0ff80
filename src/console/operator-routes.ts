import type { FastifyInstance } from "fastify";
import type { OperatorPasswordAnswer } from "../identity/console-answers.ts";
import {
  createOperator,
  disableOperator,
  enableOperator,
  listOperators,
  type OperatorAdmin,
  removeOperator,
  setOperatorAccount,
  setOperatorPassword,
  setOperatorRights,
} from "../identity/operators.ts";
import { newPassword } from "../identity/passwords.ts";
import { ROLES } from "../identity/roles.ts";
import { readRole } from "../identity/scope.ts";
import { resetTotp } from "../identity/second-factor.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import type { ConsoleParts } from "./console-parts.ts";
import { addChange, addQuestion, type Form } from "./console-routes.ts";

const NAME_CHARACTERS_MAX = 64;
const EMAIL_CHARACTERS_MAX = 255;

/** Adds the routes for managing operators. An admin cannot see operators with more grants than their own. */
export function addOperatorRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool, hashing } = parts.login;
  /** An OperatorsAnswer; JSON serializes its dates as strings. */
  const describe = async ({ operator }: Pick<Form, "operator">) => ({
    items: (await listOperators(pool, operator.scope)).map(({ passwordChangedAt: _, ...one }) => one),
    roles: ROLES,
  });
  addQuestion(scope, parts, { permission: "manage-operators", path: "operators" }, describe);
  const createFields = ["name", "role", "grants", "email"];
  addChange(
    scope,
    parts,
    { permission: "manage-operators", path: "operators", fields: createFields },
    async (form) => {
      const name = form.body.requiredText("name", NAME_CHARACTERS_MAX);
      const role = readRole(form.body.requiredText("role"));
      const email = form.body.text("email", EMAIL_CHARACTERS_MAX);
      const password = email === undefined ? newPassword() : null;
      const rights = { role, grants: form.body.texts("grants") ?? [], email };
      await createOperator({ pool, who: form.who, hashing }, name, password ?? undefined, rights);
      return { name, password } satisfies OperatorPasswordAnswer;
    },
  );
  /** A change of another operator. Admins cannot change their own account, so they cannot lock themselves out. */
  const change = (
    verb: string,
    fields: readonly string[],
    work: (admin: OperatorAdmin, name: string, form: Form) => Promise<unknown>,
  ) =>
    addChange(
      scope,
      parts,
      { permission: "manage-operators", path: `operators/:name/${verb}`, fields },
      async (form) => {
        const { name = "" } = form.named;
        if (name === form.operator.name)
          throw new ConsoleError("bellhop.console.Conflict", {
            message: "You cannot change your own account here. Ask another admin, or use `bellhop operator`.",
          });
        return (await work({ pool, who: form.who, hashing }, name, form)) ?? describe(form);
      },
    );
  change("set", ["role", "grants", "shown"], (admin, name, { body }) => {
    const role = body.text("role");
    const rights = { role: role === undefined ? undefined : readRole(role), grants: body.texts("grants") };
    return setOperatorRights(admin, name, rights, body.shown());
  });
  change("password", [], async (admin, name): Promise<OperatorPasswordAnswer> => {
    const password = newPassword();
    await setOperatorPassword(admin, name, password);
    return { name, password };
  });
  change("disable", [], disableOperator);
  change("enable", [], enableOperator);
  change("remove", [], removeOperator);
  change("reset-totp", [], (admin, name) => resetTotp(admin, name));
  change("account", ["email"], (admin, name, { body }) =>
    setOperatorAccount(admin, name, { email: body.text("email", EMAIL_CHARACTERS_MAX) }),
  );
}
