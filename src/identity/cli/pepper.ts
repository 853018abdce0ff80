import { flag, type Noun } from "../../cli/command.ts";
import { type Columns, itemTable, snakeCase } from "../../cli/output.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { listPeppers, type PepperSummary, retirePepper, rotatePepper } from "../pepper-admin.ts";
import { adminVerb } from "./administer.ts";

const status = adminVerb({
  summary: "list peppers and the live secrets hashed with each",
  examples: ["pepper status"],
  json: '{"peppers": [{"number", "current", "secrets", "last_used_at", "client_ids"}]}',
  async admin(_, { internals }, { output }) {
    const peppers = await listPeppers(internals.pool);
    const data = peppers.map(({ number, isCurrent: current, ...use }) =>
      snakeCase({ number, current, ...use }),
    );
    const columns: Columns<PepperSummary> = {
      PEPPER: "number",
      STATE: ({ isCurrent }) => (isCurrent ? "current" : "previous"),
      "LIVE SECRETS": "secrets",
      "LAST USED": "lastUsedAt",
    };
    output.result({ peppers: data }, itemTable(columns, peppers));
  },
});

const rotate = adminVerb({
  summary: "create a new pepper",
  details: "Secrets under the previous pepper stay valid and move to the new one when they are next used.",
  examples: ["pepper rotate"],
  json: '{"number"}',
  async admin(_, admin, { output }) {
    const { number } = await rotatePepper(admin);
    output.result(
      { number },
      `Pepper ${number} is in use. Secrets under the previous one stay valid and move to it when they are next used.`,
    );
  },
});

const retire = adminVerb({
  summary: "delete the previous pepper",
  options: { force: flag("revoke the secrets that still use it") },
  examples: ["pepper retire", "pepper retire --force"],
  json: '{"number", "ended_secrets"}',
  async admin({ force }, admin, { output }) {
    const retired = await retirePepper(admin, { force });
    const { number, endedSecrets } = retired;
    output.result(
      snakeCase(retired),
      `Pepper ${number} is deleted; ${countText(endedSecrets, "secret")} ended with it.`,
    );
  },
});

export const command: Noun = { verbs: { status, rotate, retire } };
