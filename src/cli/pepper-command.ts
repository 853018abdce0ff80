import { listPeppers, type PepperSummary, retirePepper, rotatePepper } from "../auth/pepper-admin.ts";
import { momentText, tableLines } from "./text-output.ts";
import { readArgs, runVerb, shellContext, type Verb, type VerbContext } from "./verb.ts";

const JSON_OPTION = { json: { type: "boolean", default: false } } as const;

const status: Verb = {
  usage: "bellhop pepper status [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: JSON_OPTION });
    return withAdmin(async (admin) => {
      const peppers = await listPeppers(admin);
      if (values.json) out(JSON.stringify({ peppers: peppers.map(pepperJson) }));
      else
        for (const line of tableLines(
          ["PEPPER", "STATE", "LIVE SECRETS", "LAST USED"],
          peppers.map(pepperRow),
        ))
          out(line);
      return 0;
    });
  },
};

const rotate: Verb = {
  usage: "bellhop pepper rotate [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: JSON_OPTION });
    return withAdmin(async (admin) => {
      const { number } = await rotatePepper(admin);
      out(
        values.json
          ? JSON.stringify({ number })
          : `Pepper ${number} is used from now on. Secrets under the former one stay good, and change over as they are used.`,
      );
      return 0;
    });
  },
};

const retire: Verb = {
  usage:
    "bellhop pepper retire [--force] [--json]\n    --force ends the secrets that still hang on the former pepper",
  async run(args, { out, withAdmin }) {
    const options = { ...JSON_OPTION, force: { type: "boolean", default: false } } as const;
    const { values } = readArgs({ args: [...args], options });
    return withAdmin(async (admin) => {
      const { number, endedSecrets } = await retirePepper(admin, { force: values.force });
      out(
        values.json
          ? JSON.stringify({ number, ended_secrets: endedSecrets })
          : `Pepper ${number} is deleted; ${endedSecrets} secrets ended with it.`,
      );
      return 0;
    });
  },
};

/** `bellhop pepper status|rotate|retire`: what clients' secrets are digested with. Answers the exit code. */
export function pepperCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("pepper", { status, rotate, retire }, args, context);
}

function pepperJson({ number, isCurrent, secrets, lastUsedAt, clientIds }: PepperSummary) {
  return { number, current: isCurrent, secrets, last_used_at: lastUsedAt, client_ids: clientIds };
}

function pepperRow({ number, isCurrent, secrets, lastUsedAt }: PepperSummary): string[] {
  return [String(number), isCurrent ? "current" : "former", String(secrets), momentText(lastUsedAt)];
}
