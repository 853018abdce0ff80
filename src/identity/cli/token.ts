import { CLIENT_ID, duration, type Noun, required, text, verb } from "../../cli/command.ts";
import { mintToken, revokeToken } from "../token-admin.ts";
import { scopes } from "./client.ts";

const mint = verb({
  summary: "issue an access token for testing",
  details:
    "Issues a token without the client's secret. It is audited and does not count against the client's token limit.",
  args: { clientId: CLIENT_ID },
  options: { scope: scopes, for: duration("lifetime (default: as configured)") },
  examples: ["token bhc_4Zt1 --scope read --for 15m", "token --client-id bhc_4Zt1 --json"],
  json: '{"access_token", "token_type", "expires_in", "scope", "token_id", "client_id"}',
  async admin({ clientId, scope: wanted, for: seconds }, admin, { output, json }) {
    const minted = await mintToken(admin, { clientId, scopes: wanted, seconds });
    const { accessToken, expiresInSeconds, tokenId } = minted;
    const scope = minted.scopes.join(" ");
    const data = { access_token: accessToken, token_type: "Bearer", expires_in: expiresInSeconds, scope };
    // Only the token goes to standard output, for TOKEN=$(bellhop token ...).
    output.result({ ...data, token_id: tokenId, client_id: clientId }, accessToken);
    if (!json)
      output.message(
        `Valid for ${expiresInSeconds} s, with ${scope}. To revoke it: bellhop token revoke ${tokenId}`,
      );
  },
});

const revoke = verb({
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

export const command: Noun = { own: mint, verbs: { revoke } };
