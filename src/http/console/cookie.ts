/** How the session's id travels: what the cookie is called and where it is sent. */
export interface SessionCookie {
  readonly name: string;
  /** What stands behind name and value. */
  readonly attributes: string;
}

/**
 * The cookie of a console at this address; undefined where none may be set. Behind TLS it is bound to exactly this host
 * (`__Host-`, RFC 6265bis section 4.1.3.2), so that no neighbour can plant one. Over plain http a password and a session
 * would lie open to the network between: only where there is none, on a loopback address. There the name has the port,
 * because cookies do not: two services on one machine would log each other's operators out.
 */
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

/** Whether a host of a URL is this machine's own. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Sets the cookie for as long as the browser runs: the service says when a session ends. */
export function cookieOf({ name, attributes }: SessionCookie, sessionId: string): string {
  return `${name}=${sessionId}; ${attributes}`;
}

/** Takes the cookie away. */
export function endedCookieOf({ name, attributes }: SessionCookie): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}

/** The value of the cookie of this name; undefined when there is none, or more than one: then one of them was planted. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
