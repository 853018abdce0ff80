import { ANYWHERE, jsonAnswer, openOperation, refusals } from "../../platform/http/openapi/errors.ts";
import { headersOf } from "../../platform/http/openapi/headers.ts";
import {
  type Answer,
  type Operation,
  type PathItem,
  type Schema,
  schemaOf,
} from "../../platform/http/openapi/model.ts";
import {
  choice,
  constant,
  exampleOf,
  flag,
  integer,
  list,
  objectOf,
  text,
} from "../../platform/http/openapi/schema.ts";
import { TOKEN_CHARACTERS_MAX } from "../form.ts";
import { AUTH_PATHS } from "../metadata.ts";
import { SCOPES, TOKEN_SCOPES } from "../scopes.ts";

const TOKEN_TEXT: Schema = {
  type: "string",
  maxLength: 4096,
  pattern: "^[A-Za-z0-9._~+/-]+=*$",
  examples: ["eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJiaGNfaDQifQ.c2lnbmF0dXJl"],
};

/** The token to introspect or revoke; an unknown one is not an error. */
const ASKED_TOKEN: Schema = {
  ...TOKEN_TEXT,
  minLength: 1,
  maxLength: TOKEN_CHARACTERS_MAX,
  pattern: "^[\\x20-\\x7e]*$",
};

const CREDENTIALS: Readonly<Record<string, Schema>> = {
  client_id: text(
    "Your client id, unless it is sent with HTTP Basic.",
    128,
    "bhc_h4-b3kS5m0EF4lFp",
    "^[A-Za-z0-9_-]+$",
  ),
  client_secret: {
    type: "string",
    format: "password",
    maxLength: 128,
    pattern: "^[A-Za-z0-9_-]+$",
    description: "Your client secret, unless it is sent with HTTP Basic. Never send it in the URL.",
    examples: ["bhs_vKSj6TTkxIxBuJeL4l6f"],
  },
};

/** Authentication at the OAuth endpoints: HTTP Basic, or credentials in the form. */
const BY_CREDENTIALS: Operation["security"] = [{ clientBasic: [] }, {}];

function formOf(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: string[],
  value: unknown,
) {
  return {
    description,
    required: true,
    content: {
      "application/x-www-form-urlencoded": {
        schema: {
          type: "object",
          required,
          properties: { ...properties, ...CREDENTIALS },
          // Unknown parameters are ignored (RFC 6749 section 3.2), but no parameter may be repeated.
          patternProperties: { "^": { type: "string" } },
        },
        examples: { form: { value } },
      },
    },
  };
}

const EXAMPLE_CREDENTIALS = { client_id: "bhc_h4-b3kS5m0EF4lFp", client_secret: "bhs_vKSj6TTkxIxBuJeL4l6f" };

const COMMON_REFUSALS: Operation["responses"] = {
  ...ANYWHERE,
  ...refusals({
    400: "OAuthBadRequest",
    401: "OAuthInvalidClient",
    413: "OAuthTooLarge",
    415: "OAuthMediaType",
    500: "Internal",
    503: "OAuthUnavailable",
  }),
};

function authOperation(
  { operationId, summary, description }: Pick<Operation, "operationId" | "summary" | "description">,
  requestBody: NonNullable<Operation["requestBody"]>,
  answer: Answer,
  refused: Parameters<typeof refusals>[0],
): PathItem {
  const responses = { 200: answer, ...COMMON_REFUSALS, ...refusals(refused) };
  const words = { operationId, tags: ["Tokens"], summary, description };
  return { post: { ...words, security: BY_CREDENTIALS, requestBody, responses } };
}

function formOfToken(description: string) {
  return formOf(
    "A form with the token and the credentials.",
    { token: { ...ASKED_TOKEN, description } },
    ["token"],
    { token: TOKEN_TEXT.examples?.[0], ...EXAMPLE_CREDENTIALS },
  );
}

const issueToken = authOperation(
  {
    operationId: "issueToken",
    summary: "Get an access token",
    description:
      "The client credentials grant (RFC 6749 section 4.4). Every call returns a new token, a JWT that is valid for 60 minutes: reuse it until shortly before it expires. A client may take six tokens in a burst and one more every 10 minutes; a refused call uses none.",
  },
  formOf(
    "A form with `grant_type`, the credentials and, for fewer scopes than the client has, `scope`.",
    {
      grant_type: choice("Always `client_credentials`.", ["client_credentials"], "client_credentials"),
      scope: text(
        `The requested scopes, separated by spaces, out of ${TOKEN_SCOPES.join(", ")}; by default all that the client has.`,
        256,
        "reservations:write read",
        "^[a-z:]+( [a-z:]+)*$",
      ),
    },
    ["grant_type"],
    { grant_type: "client_credentials", ...EXAMPLE_CREDENTIALS },
  ),
  jsonAnswer(
    "A token.",
    "AccessToken",
    {
      answer: {
        access_token: TOKEN_TEXT.examples?.[0],
        token_type: "Bearer",
        expires_in: 3600,
        scope: TOKEN_SCOPES.join(" "),
      },
    },
    headersOf("Cache-Control", "RateLimit", "RateLimit-Policy"),
  ),
  { 429: "OAuthTooManyTokens" },
);

const revokeToken = authOperation(
  {
    operationId: "revokeToken",
    summary: "Revoke an access token",
    description:
      "Revokes one of this client's tokens before it expires (RFC 7009). The response for a token that is already invalid is also 200.",
  },
  formOfToken("The token to revoke."),
  {
    description: "The token is revoked. The body is empty.",
    headers: headersOf("Cache-Control"),
  },
  { 429: "OAuthTooManyFailures" },
);

const introspectToken = authOperation(
  {
    operationId: "introspectToken",
    summary: "Introspect a token",
    description: "For operators' tools (RFC 7662). The client needs the scope `introspect`.",
  },
  formOfToken("The token to introspect."),
  jsonAnswer(
    "The state of the token; for an invalid token only `active: false`.",
    "Introspection",
    { answer: { active: false } },
    headersOf("Cache-Control"),
  ),
  { 403: "OAuthForbidden", 429: "OAuthTooManyFailures" },
);

function url(description: string, path: string): Schema {
  return {
    type: "string",
    format: "uri",
    maxLength: 2048,
    description,
    examples: [`https://bellhop.example${path}`],
  };
}

function words(description: string, values: readonly string[]): Schema {
  return {
    type: "array",
    maxItems: 32,
    description,
    items: { type: "string", maxLength: 64, pattern: "^[a-z_:]+$" },
    examples: [values],
  };
}

const seconds = (description: string): Schema => ({
  type: "integer",
  format: "int64",
  minimum: 0,
  maximum: 253_402_300_799,
  description,
  examples: [1_780_300_800],
});

const ascii = (description: string, example: string) => text(description, 2048, example, "^[\\x20-\\x7e]*$");

const METHODS_SUPPORTED = ["client_secret_basic", "client_secret_post"];

const METADATA: Readonly<Record<string, Schema>> = {
  issuer: url("The issuer identifier.", ""),
  token_endpoint: url("The token endpoint.", AUTH_PATHS.token),
  jwks_uri: url("The keys that sign tokens.", AUTH_PATHS.keys),
  revocation_endpoint: url("The revocation endpoint.", AUTH_PATHS.revoke),
  introspection_endpoint: url("The introspection endpoint.", AUTH_PATHS.introspect),
  scopes_supported: words("All scopes.", SCOPES),
  response_types_supported: words("None: there is no authorization endpoint.", []),
  grant_types_supported: words("Supported grant types.", ["client_credentials"]),
  token_endpoint_auth_methods_supported: words(
    "Authentication methods of the token endpoint.",
    METHODS_SUPPORTED,
  ),
  revocation_endpoint_auth_methods_supported: words(
    "Authentication methods of the revocation endpoint.",
    METHODS_SUPPORTED,
  ),
  introspection_endpoint_auth_methods_supported: words(
    "Authentication methods of the introspection endpoint.",
    METHODS_SUPPORTED,
  ),
};

const KEY: Readonly<Record<string, Schema>> = {
  kty: constant("Key type.", "EC"),
  crv: constant("Curve.", "P-256"),
  x: ascii("The public key's x or y coordinate.", "dkSN-5EQnxF3I-Qswp5HlVWuMpnLDJjLtV6eLo9PiG0"),
  y: ascii("The public key's x or y coordinate.", "c08EI7-v-P0n9JyNzRrB1ZlQf2nbpwhS1vy70Dp9X58"),
  kid: ascii(
    "Key id, as in the header of the tokens it signs.",
    "ud9ZaVbuo2WaQUgjH3CinrZETk3EF7IC0fO1A51KfIg",
  ),
  alg: constant("Algorithm.", "ES256"),
  use: constant("Always `sig`.", "sig"),
};

/** The OAuth endpoints. */
export const AUTH_OPERATIONS: Readonly<Record<string, PathItem>> = {
  [AUTH_PATHS.token]: issueToken,
  [AUTH_PATHS.revoke]: revokeToken,
  [AUTH_PATHS.introspect]: introspectToken,
  [AUTH_PATHS.metadata]: openOperation(
    "Tokens",
    {
      operationId: "getAuthorizationServerMetadata",
      summary: "Find the OAuth endpoints",
      description: "Authorization server metadata (RFC 8414), from which OAuth clients configure themselves.",
    },
    {
      200: jsonAnswer(
        "The metadata.",
        "AuthorizationServerMetadata",
        { answer: exampleOf(METADATA) },
        headersOf("Cache-Control"),
      ),
    },
  ),
  [AUTH_PATHS.keys]: openOperation(
    "Tokens",
    {
      operationId: "getSigningKeys",
      summary: "Get the token signing keys",
      description:
        "The public keys (RFC 7517). A key is listed before it first signs and until its last token has expired.",
    },
    {
      200: jsonAnswer(
        "The keys.",
        "SigningKeys",
        { answer: { keys: [exampleOf(KEY)] } },
        headersOf("Cache-Control"),
      ),
      ...refusals({ 503: "OAuthUnavailable" }),
    },
  ),
};

const INTROSPECTED: Readonly<Record<string, Schema>> = {
  active: flag("Whether the token is valid.", true),
  token_type: constant("Always Bearer.", "Bearer"),
  client_id: ascii("The client of the token.", "bhc_h4-b3kS5m0EF4lFp"),
  sub: ascii("The client of the token.", "bhc_h4-b3kS5m0EF4lFp"),
  scope: ascii("The scopes that are effective now.", "reservations:write read"),
  iss: ascii("The issuer.", "https://bellhop.example"),
  aud: ascii("The audience.", "urn:uuid:6f1c7b1e-3d0a-4d3b-9a55-0c5b1f4a7e21"),
  iat: seconds("Issued at, seconds since 1970."),
  exp: seconds("Expires at, seconds since 1970."),
  jti: ascii("The token's id.", "3f0e7a86-0000-4000-8000-000000000001"),
};

export const AUTH_SCHEMAS: Readonly<Record<string, Schema>> = {
  AccessToken: objectOf("An access token (RFC 6749 section 5.1).", {
    access_token: { ...TOKEN_TEXT, description: "The token, a JWT: send it as `Authorization: Bearer …`." },
    token_type: constant("Always Bearer.", "Bearer"),
    expires_in: integer("Lifetime in seconds.", 1, 3600, 3600),
    scope: ascii("The scopes of the token.", TOKEN_SCOPES.join(" ")),
  }),
  Introspection: objectOf(
    "The state of a token (RFC 7662 section 2.2).",
    INTROSPECTED,
    ...Object.keys(INTROSPECTED).slice(1),
  ),
  AuthorizationServerMetadata: objectOf("Authorization server metadata (RFC 8414).", METADATA),
  SigningKeys: objectOf("A JSON Web Key Set (RFC 7517).", {
    keys: list("The keys.", 16, schemaOf("SigningKey")),
  }),
  SigningKey: objectOf("A public key.", KEY),
};
