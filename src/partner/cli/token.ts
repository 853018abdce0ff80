import { type CommandContext, duration, flag, type Noun, text, verb } from "../../cli/command.ts";
import { administer } from "../../identity/cli/administer.ts";
import { scopes } from "../../identity/cli/client.ts";
import { issueToken, revoke } from "../../identity/cli/token.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { CREDENTIALS_DETAILS, PARTNER_OPTIONS, partnerClient, readPartner } from "../partner-client.ts";

const { url, authUrl } = PARTNER_OPTIONS;

/** The token that the partner's commands share: requested only if none is stored, or if the stored one is due for renewal. */
async function storedToken(
  addresses: { readonly url: string | undefined; readonly authUrl: string | undefined },
  context: CommandContext,
): Promise<{ readonly accessToken: string; readonly data: object }> {
  const identity = await readPartner({ ...addresses, clientId: undefined, clientSecret: undefined }, context);
  const accessToken = await partnerClient(identity, context).accessToken();
  return {
    accessToken,
    data: { access_token: accessToken, token_type: "Bearer", client_id: identity.clientId },
  };
}

const own = verb({
  summary: "print an access token",
  details:
    "Without CLIENT_ID: the token of your credentials (BELLHOP_CLIENT_ID and BELLHOP_CLIENT_SECRET), which all commands for partners share. It is " +
    `stored, so the command can be repeated without taking a new token. ${CREDENTIALS_DETAILS} ` +
    "With CLIENT_ID, for operators: a new token of that client without its secret, for testing. It is audited and does not count against " +
    "the client's token limit.",
  args: {
    clientId: {
      ...text("CLIENT_ID", "the client to issue a token for (bellhop client list)"),
      isAlsoOption: true,
    },
  },
  options: {
    header: flag('print the HTTP header, as in curl -H "$(bellhop token --header)"'),
    scope: scopes,
    for: duration("with CLIENT_ID: lifetime (default: as configured)"),
    url,
    authUrl,
  },
  examples: [
    "token",
    "token --header",
    "token bhc_4Zt1 --scope read --for 15m",
    "token --client-id bhc_4Zt1 --json",
  ],
  json: '{"access_token", "token_type", "client_id"}; with CLIENT_ID also {"expires_in", "scope", "token_id"}',
  run: async ({ clientId, header, scope, for: seconds, ...addresses }, context) => {
    const { output, session } = context;
    if (clientId === undefined && (scope ?? seconds) !== undefined)
      throw new UsageError("--scope and --for need a CLIENT_ID: a stored token has the client's own.");
    if (clientId !== undefined && (addresses.url ?? addresses.authUrl) !== undefined)
      throw new UsageError(
        "--url and --auth-url do not apply with CLIENT_ID: the token comes from the database.",
      );
    const { accessToken, data } =
      clientId === undefined
        ? await storedToken(addresses, context)
        : await administer(session, (admin) => issueToken({ clientId, scope, for: seconds }, admin, context));
    // Only the token goes to standard output, for TOKEN=$(bellhop token).
    output.result(data, header ? `Authorization: Bearer ${accessToken}` : accessToken);
  },
});

export const command: Noun = { own, verbs: { revoke } };
