import { flag, type Noun, verb } from "../../cli/command.ts";
import { moment, table } from "../../cli/output.ts";
import { listPeppers, retirePepper, rotatePepper } from "../pepper-admin.ts";

const status = verb({
  summary: "list peppers and the live secrets hashed with each",
  examples: ["pepper status"],
  json: '{"peppers": [{"number", "current", "secrets", "last_used_at", "client_ids"}]}',
  run: (_, { output, session }) =>
    session.admin(async (admin) => {
      const peppers = await listPeppers(admin);
      const data = peppers.map(({ number, isCurrent, secrets, lastUsedAt, clientIds }) => ({
        number,
        current: isCurrent,
        secrets,
        last_used_at: lastUsedAt,
        client_ids: clientIds,
      }));
      const rows = peppers.map(({ number, isCurrent, secrets, lastUsedAt }) => [
        String(number),
        isCurrent ? "current" : "previous",
        String(secrets),
        moment(lastUsedAt),
      ]);
      output.result({ peppers: data }, table(["PEPPER", "STATE", "LIVE SECRETS", "LAST USED"], rows));
    }),
});

const rotate = verb({
  summary: "create a new pepper",
  details: "Secrets under the previous pepper stay valid and move to the new one when they are next used.",
  examples: ["pepper rotate"],
  json: '{"number"}',
  run: (_, { output, session }) =>
    session.admin(async (admin) => {
      const { number } = await rotatePepper(admin);
      output.result(
        { number },
        `Pepper ${number} is in use. Secrets under the previous one stay valid and move to it when they are next used.`,
      );
    }),
});

const retire = verb({
  summary: "delete the previous pepper",
  options: { force: flag("end the secrets that still depend on it") },
  examples: ["pepper retire", "pepper retire --force"],
  json: '{"number", "ended_secrets"}',
  run: ({ force }, { output, session }) =>
    session.admin(async (admin) => {
      const { number, endedSecrets } = await retirePepper(admin, { force });
      output.result(
        { number, ended_secrets: endedSecrets },
        `Pepper ${number} is deleted; ${endedSecrets} secrets ended with it.`,
      );
    }),
});

export const command: Noun = { verbs: { status, rotate, retire } };
