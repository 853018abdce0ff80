/** The path of a request's target, which may name the whole address (RFC 9112 section 3.2.2), as the router takes it too. */
export function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1)[0] ?? "";
}

/** Which methods an address takes: for 405 with Allow, which must tell a known address from an unknown one. */
export class RouteIndex {
  readonly #routes: { readonly segments: readonly string[]; readonly methods: Set<string> }[] = [];

  /** Notes a route as it is registered; `:name` stands for any segment that is not empty. */
  add(method: string | readonly string[], url: string): void {
    const segments = url.split("/");
    let route = this.#routes.find((known) => known.segments.join("/") === url);
    if (route === undefined) {
      route = { segments, methods: new Set() };
      this.#routes.push(route);
    }
    for (const name of typeof method === "string" ? [method] : method) route.methods.add(name);
  }

  /** The methods of an address, in alphabetical order; empty when there is nothing there. */
  methodsOf(address: string): string[] {
    const segments = pathOf(address).split("/");
    const methods = new Set<string>();
    for (const route of this.#routes) {
      const matches =
        route.segments.length === segments.length &&
        route.segments.every(
          (segment, at) => segment === segments[at] || (segment.startsWith(":") && segments[at] !== ""),
        );
      if (matches) for (const method of route.methods) methods.add(method);
    }
    return [...methods].sort();
  }
}
