import { isLoopback } from "../platform/http/networks.ts";

export interface SessionCookie {
  readonly name: string;
  readonly attributes: string;
}

/** `__Host-` binds the cookie to this host (RFC 6265bis). Without TLS only loopback gets one, named by port: cookies ignore ports. */
export function sessionCookieOf(baseUrl: string): SessionCookie | undefined {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol === "https:") {
    return { name: "__Host-bellhop-console", attributes: "Path=/; Secure; HttpOnly; SameSite=Strict" };
  }
  if (!isLoopback(hostname)) return undefined;
  return {
    name: `bellhop-console-${port === "" ? "80" : port}`,
    attributes: "Path=/console; HttpOnly; SameSite=Strict",
  };
}

/** The cookie during a single sign-on. Unlike a session's, it must be sent with the provider's redirect. */
export function signOnCookieOf({ name, attributes }: SessionCookie): SessionCookie {
  return {
    name: name.replace("console", "sign-on"),
    attributes: attributes.replace("SameSite=Strict", "SameSite=Lax; Max-Age=600"),
  };
}

/** A session cookie without expiry: the service decides when the session ends. */
export function cookieOf({ name, attributes }: SessionCookie, sessionId: string): string {
  return `${name}=${sessionId}; ${attributes}`;
}

export function endedCookieOf({ name, attributes }: SessionCookie): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}

/** Undefined if there is none, or several, one of which may have been planted. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
