/** The path of a request target, which may be a full URL (RFC 9112 section 3.2.2), as the router reads it. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1)[0] ?? "";
}

/** The methods of each address, to choose between 404 and 405 with Allow. */
export class RouteIndex {
  readonly #methods = new Map<string, Set<string>>();

  /** Adds a registered route; `:name` matches any non-empty segment. */
  add(method: string | readonly string[], url: string): void {
    const methods = this.#methods.get(url) ?? new Set();
    this.#methods.set(url, methods.union(new Set([method].flat())));
  }

  /** The methods of an address in alphabetical order; empty if it does not exist. */
  methodsOf(address: string): string[] {
    const segments = pathOf(address).split("/");
    const matches = (url: string) => {
      const wanted = url.split("/");
      return (
        wanted.length === segments.length &&
        wanted.every((name, at) => name === segments[at] || (name.startsWith(":") && segments[at] !== ""))
      );
    };
    const found = [...this.#methods].flatMap(([url, methods]) => (matches(url) ? [...methods] : []));
    return [...new Set(found)].sort();
  }
}
