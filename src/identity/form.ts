import { OAuthError } from "../platform/errors/oauth-error.ts";
import { decodeFormText } from "../platform/http/read-parameters.ts";

/** The non-empty parameters of a form (RFC 6749 §3.2: an empty value counts as omitted). */
export type Form = ReadonlyMap<string, string>;

/**
 * Parses an application/x-www-form-urlencoded body. Unlike URLSearchParams, rejects malformed escapes, malformed UTF-8 and repeated
 * parameters as `invalid_request`.
 */
export function parseForm(body: Buffer): Form {
  const text = decodeUtf8(body);
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeFormText(pair.slice(equals + 1));
    if (name === undefined || value === undefined) {
      throw new OAuthError("invalid_request", "The form has a malformed percent-encoding or is not UTF-8.");
    }
    if (seen.has(name)) throw new OAuthError("invalid_request", "A parameter is repeated.");
    seen.add(name);
    if (value !== "") form.set(name, value);
  }
  return form;
}

/** Longest token that is read; issued tokens have fewer than 1,000 characters. */
export const TOKEN_CHARACTERS_MAX = 2048;
const TOKEN = new RegExp(`^[\\x20-\\x7e]{1,${TOKEN_CHARACTERS_MAX}}$`);

/** The `token` parameter; `invalid_request` if it is missing or malformed (RFC 6749 appendix A.12). */
export function requireToken(form: Form): string {
  const token = form.get("token");
  if (token === undefined) throw new OAuthError("invalid_request", "token is missing.");
  if (TOKEN.test(token)) return token;
  throw new OAuthError(
    "invalid_request",
    `token must be 1 to ${TOKEN_CHARACTERS_MAX} printable ASCII characters.`,
  );
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new OAuthError("invalid_request", "The form is not UTF-8.", { cause });
  }
}
