import type { ComponentType } from "react";

/** What a pattern's `:name` segments stand for. */
export type Segments = Readonly<Record<string, string>>;

export interface Route {
  /** `/requests/:requestId` */
  readonly pattern: string;
  readonly page: ComponentType<{ readonly segments: Segments }>;
}

/** The first route that a path fits, and what its segments are. */
export function findRoute(
  routes: readonly Route[],
  path: string,
): { readonly route: Route; readonly segments: Segments } | undefined {
  const parts = path.split("/");
  for (const route of routes) {
    const segments = matchParts(route.pattern.split("/"), parts);
    if (segments !== undefined) return { route, segments };
  }
  return undefined;
}

function matchParts(pattern: readonly string[], parts: readonly string[]): Segments | undefined {
  if (pattern.length !== parts.length) return undefined;
  const segments: Record<string, string> = {};
  for (const [place, expected] of pattern.entries()) {
    const part = parts[place] ?? "";
    if (expected.startsWith(":")) segments[expected.slice(1)] = part;
    else if (expected !== part) return undefined;
  }
  return segments;
}
