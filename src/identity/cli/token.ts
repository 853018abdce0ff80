import { type CommandContext, required, text } from "../../cli/command.ts";
import type { AuthAdmin } from "../admin.ts";
import { mintToken, revokeToken } from "../token-admin.ts";
import { adminVerb } from "./administer.ts";

interface MintOptions {
  readonly clientId: string;
  readonly scope: string[] | undefined;
  readonly for: number | undefined;
}

/** Issues a token without the client's secret, and returns it with the members of its JSON object. */
export async function issueToken(
  { clientId, scope: wanted, for: seconds }: MintOptions,
  admin: AuthAdmin,
  { output, json }: CommandContext,
): Promise<{ readonly accessToken: string; readonly data: object }> {
  const { accessToken, expiresInSeconds, tokenId, scopes } = await mintToken(admin, {
    clientId,
    scopes: wanted,
    seconds,
  });
  const scope = scopes.join(" ");
  if (!json)
    output.message(
      `Valid for ${expiresInSeconds} s, with ${scope}. To revoke it: bellhop token revoke ${tokenId}`,
    );
  const answer = { access_token: accessToken, token_type: "Bearer", expires_in: expiresInSeconds, scope };
  return { accessToken, data: { ...answer, token_id: tokenId, client_id: clientId } };
}

export const revoke = adminVerb({
  summary: "revoke a token",
  args: { token: required(text("TOKEN", "the token, or its id")) },
  examples: ["token revoke bht_9fK2"],
  json: '{"token_id", "client_id", "already_revoked"}',
  async admin({ token }, admin, { output }) {
    const { tokenId, clientId, already } = await revokeToken(admin, token);
    output.result(
      { token_id: tokenId, client_id: clientId ?? null, already_revoked: already },
      already
        ? `${tokenId} was already revoked.`
        : `Revoked ${tokenId}. Running nodes refuse it within a second.`,
    );
  },
});
