import type { Role } from "../db/presence.ts";

/** What keeps a node from doing what it is there for. */
export interface Obstacle {
  readonly reason: string;
  /** What of it cannot be done now. */
  readonly roles: readonly Role[];
}

/** What `/readyz` says. */
export interface Readiness {
  readonly isReady: boolean;
  /** Why it is not. */
  readonly reason: string | undefined;
}

/**
 * Whether a balancer should send requests to a node of these roles: not while one of those that serve requests cannot be done. So a
 * node that accepts is ready when it can accept, and one that only reads whatever becomes of batches.
 */
export function readinessOf(roles: readonly Role[], obstacles: readonly Obstacle[]): Readiness {
  // Where requests are served, that is what balancers ask about: what is accepted here another node may apply.
  const serving = roles.filter((role) => role !== "apply");
  const asked = serving.length === 0 ? roles : serving;
  const inTheWay = obstacles.find(({ roles: of }) => of.some((role) => asked.includes(role)));
  return { isReady: inTheWay === undefined, reason: inTheWay?.reason };
}
