import { AuthInputError } from "../auth/admin.ts";
import { type KeySummary, listKeys, revokeKey, rotateKey, rotateKeyWhenDue } from "../auth/key-admin.ts";
import { whoCannotOpen } from "../auth/node-knowledge.ts";
import { reseal } from "../auth/reseal.ts";
import { momentText, tableLines } from "./text-output.ts";
import {
  readArgs,
  readDuration,
  readOne,
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

const revoke: Verb = {
  usage: "bellhop key revoke KEY [--json]\n    it leaked: refuses everything that it signed, at once",
  async run(args, { out, withAdmin }) {
    const options = { json: { type: "boolean", default: false } } as const;
    const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
    const kid = readOne("KEY", positionals);
    return withAdmin(async (admin) => {
      const { replacedBy } = await revokeKey(admin, kid);
      if (values.json) {
        out(JSON.stringify({ kid, replaced_by: replacedBy }));
        return 0;
      }
      out("Every node refuses the tokens under it from now on, within a second.");
      if (replacedBy !== null) out(`The key ${replacedBy} signs in its place.`);
      return 0;
    });
  },
};

const resealVerb: Verb = {
  usage:
    "bellhop key reseal [--force] [--json]\n    under KEY_ENCRYPTION_KEY whatever lies under a former one or readable; --force: also while a node runs without it",
  async run(args, { out, err, withAdmin }) {
    const options = {
      force: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    } as const;
    const { values } = readArgs({ args: [...args], options });
    return withAdmin(async (admin) => {
      const { pool, sealer, config } = admin.internals;
      if (config.keyEncryptionKey === undefined) throw new AuthInputError("KEY_ENCRYPTION_KEY is not set.");
      const refusal = await whoCannotOpen(pool, config.keyEncryptionKey);
      if (refusal !== undefined && !values.force) throw new AuthInputError(refusal);
      // As the service does at its start: the signing key that lies readable is replaced, and its successor announced.
      const rotated = await rotateKeyWhenDue(admin, 0);
      const { resealed, unopened } = await reseal(pool, sealer, admin.who);
      if (values.json) out(JSON.stringify({ resealed, unopened, announced_kid: rotated?.kid ?? null }));
      else out(`Sealed anew: ${resealed}.`);
      if (rotated !== undefined && !values.json)
        out(
          `The signing key lay readable: ${rotated.kid} signs from ${rotated.activateAt.toISOString()} on.`,
        );
      for (const name of unopened) err(`bellhop: ${name} opens with neither key and stays as it is.`);
      return unopened.length === 0 ? 0 : 1;
    });
  },
};

/** `bellhop key list|rotate|revoke|reseal`: the keys that sign tokens, and what keeps them. Answers the exit code. */
export function keyCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("key", { list, rotate, revoke, reseal: resealVerb }, args, context);
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
