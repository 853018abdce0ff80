/** The path of a request's target, which may name the whole address (RFC 9112 section 3.2.2), as the router takes it too. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1)[0] ?? "";
}

/** Which methods an address takes: for 405 with Allow, which must tell a known address from an unknown one. */
export class RouteIndex {
  readonly #methods = new Map<string, Set<string>>();

  /** Notes a route as it is registered; `:name` stands for any segment that is not empty. */
  add(method: string | readonly string[], url: string): void {
    const methods = this.#methods.get(url) ?? new Set();
    this.#methods.set(url, methods.union(new Set([method].flat())));
  }

  /** The methods of an address, in alphabetical order; empty when there is nothing there. */
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
