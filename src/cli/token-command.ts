import { mintToken, revokeToken } from "../auth/token-admin.ts";
import {
  JSON_OPTION,
  readArgs,
  readDuration,
  readOne,
  runOne,
  shellContext,
  type Verb,
  type VerbContext,
} from "./verb.ts";

const mint: Verb = {
  usage: "bellhop token --client-id CLIENT_ID [--scope SCOPE …] [--for 60m] [--json]",
  async run(args, { out, err, withAdmin }) {
    const options = {
      "client-id": { type: "string" },
      scope: { type: "string", multiple: true },
      for: { type: "string" },
      ...JSON_OPTION,
    } as const;
    const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
    const clientId = readOne("--client-id", positionals, values["client-id"]);
    const seconds = readDuration("for", values.for);
    const scopes = values.scope?.flatMap((text) => text.split(/[\s,]+/)).filter((scope) => scope !== "");
    return withAdmin(async (admin) => {
      const wanted = {
        clientId,
        ...(scopes === undefined ? {} : { scopes }),
        ...(seconds === undefined ? {} : { seconds }),
      };
      const token = await mintToken(admin, wanted);
      const scope = token.scopes.join(" ");
      if (values.json) {
        const response = {
          access_token: token.accessToken,
          token_type: "Bearer",
          expires_in: token.expiresInSeconds,
          scope,
        };
        out(JSON.stringify({ ...response, token_id: token.tokenId, client_id: clientId }));
        return 0;
      }
      // The token alone on standard output: TOKEN=$(bellhop token --client-id …) is what it is for.
      out(token.accessToken);
      err(
        `Good for ${token.expiresInSeconds} s, with ${scope}. To end it: bellhop token revoke ${token.tokenId}`,
      );
      return 0;
    });
  },
};

const revoke: Verb = {
  usage: "bellhop token revoke TOKEN|TOKEN_ID [--json]",
  async run(args, { out, withAdmin }) {
    const { values, positionals } = readArgs({
      args: [...args],
      options: JSON_OPTION,
      allowPositionals: true,
    });
    const text = readOne("TOKEN", positionals);
    return withAdmin(async (admin) => {
      const { tokenId, clientId, already } = await revokeToken(admin, text);
      if (values.json)
        out(JSON.stringify({ token_id: tokenId, client_id: clientId ?? null, already_revoked: already }));
      else
        out(
          already
            ? `${tokenId} was revoked before.`
            : `Revoked ${tokenId}. Running nodes refuse it within a second.`,
        );
      return 0;
    });
  },
};

/**
 * `bellhop token --client-id X` signs a token without the client's secret, for trying things out; it is audited and
 * costs the client none of its own. `bellhop token revoke` ends one. Answers the exit code.
 */
export function tokenCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  if (args[0] === "revoke") return runOne(revoke, args.slice(1), context);
  const usage = `${mint.usage}\n  ${revoke.usage}`;
  return runOne({ ...mint, usage }, args, context);
}
