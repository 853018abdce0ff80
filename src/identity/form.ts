import { OAuthError } from "../platform/errors/oauth-error.ts";

/** The parameters of a form that were not empty (RFC 6749 §3.2: sent without a value is as if omitted). */
export type Form = ReadonlyMap<string, string>;

/**
 * Reads an application/x-www-form-urlencoded body. Stricter than URLSearchParams, which lets broken escapes and broken
 * UTF-8 pass as other text: those, and a repeated parameter, are `invalid_request`.
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

/** The longest token that is read; those that are issued have under 1,000 characters. */
export const TOKEN_CHARACTERS_MAX = 2048;
const TOKEN = new RegExp(`^[\\x20-\\x7e]{1,${TOKEN_CHARACTERS_MAX}}$`);

/** The token in question; without one, or for what is none (RFC 6749 appendix A.12), `invalid_request`. */
export function requireToken(form: Form): string {
  const token = form.get("token");
  if (token === undefined) throw new OAuthError("invalid_request", "token is missing.");
  if (TOKEN.test(token)) return token;
  throw new OAuthError(
    "invalid_request",
    `token is 1 to ${TOKEN_CHARACTERS_MAX} printable ASCII characters.`,
  );
}

/** Decodes one name or value of a form; undefined when its escapes are malformed or are not UTF-8. */
export function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new OAuthError("invalid_request", "The form is not UTF-8.", { cause });
  }
}
