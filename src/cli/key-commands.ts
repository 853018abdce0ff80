import { type KeySummary, listKeys, rotateKey } from "../auth/key-admin.ts";
import { momentText, tableLines } from "./text-output.ts";
import {
  readArgs,
  readDuration,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
} from "./verb.ts";

const list: Verb = {
  usage: "bellhop key list [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: { json: { type: "boolean", default: false } } });
    return withAdmin(async (admin) => {
      const keys = await listKeys(admin);
      if (values.json) out(JSON.stringify({ keys: keys.map(keyJson) }));
      else
        for (const line of tableLines(
          ["KEY", "STATE", "SIGNS FROM", "REFUSED FROM", "PRIVATE PART"],
          keys.map(keyRow),
        ))
          out(line);
      return 0;
    });
  },
};

const rotate: Verb = {
  usage: "bellhop key rotate [--announce 15m | --leaked] [--json]",
  async run(args, { out, withAdmin }) {
    const options = {
      announce: { type: "string" },
      leaked: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    } as const;
    const { values } = readArgs({ args: [...args], options });
    const { leaked } = values;
    const announceSeconds = readDuration("announce", values.announce);
    if (leaked && announceSeconds !== undefined)
      throw new UsageError("A leaked key is replaced within seconds: --announce does not go with it.");
    return withAdmin(async (admin) => {
      const rotation = await rotateKey(admin, {
        leaked,
        ...(announceSeconds === undefined ? {} : { announceSeconds }),
      });
      const { kid, activateAt, retiring } = rotation;
      if (values.json) {
        out(JSON.stringify({ kid, activate_at: activateAt, retiring }));
        return 0;
      }
      out(`The key ${kid} is published and signs from ${momentText(activateAt)} on.`);
      out(
        leaked
          ? "From then on every token under another key is refused."
          : "Tokens under the key before it stay good until they expire.",
      );
      return 0;
    });
  },
};

/** `bellhop key list|rotate`: the keys that sign tokens. Answers the exit code. */
export function keyCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("key", { list, rotate }, args, context);
}

function keyJson(key: KeySummary): Record<string, unknown> {
  const { kid, state, createdAt, activateAt, removeAt, privatePart } = key;
  return {
    kid,
    state,
    created_at: createdAt,
    activate_at: activateAt,
    remove_at: removeAt,
    private_part: privatePart,
  };
}

function keyRow(key: KeySummary): string[] {
  return [key.kid, key.state, momentText(key.activateAt), momentText(key.removeAt), key.privatePart];
}
