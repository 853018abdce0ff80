import type { Role } from "../db/presence.ts";

/** What keeps a node from doing what it is there for. */
export interface Obstacle {
  readonly reason: string;
  /** What of it cannot be done now. */
  readonly roles: readonly Role[];
  /** Whether another node may do it meanwhile; the disk under the embedded database, say, is the only one there is. */
  readonly isOfThisNode: boolean;
}

/** What `/readyz` says. */
export interface Readiness {
  readonly isReady: boolean;
  /** Of a node that is ready: why it cannot do one part, though it does the others. */
  readonly reason: string | undefined;
}

/**
 * Whether a balancer should send requests to a node of these roles. It should not when another node may do what this one cannot,
 * and when nothing is left that this one does. Else it should: left out, the only node there is would answer nobody, those
 * neither who only read, and partners would get the balancer's 503 without `Retry-After` in the place of ours.
 */
export function readinessOf(roles: readonly Role[], obstacles: readonly Obstacle[]): Readiness {
  // Where requests are served, that is what balancers ask about: what is accepted here another node may apply.
  const serving = roles.filter((role) => role !== "apply");
  const asked = serving.length === 0 ? roles : serving;
  const inTheWay = obstacles.filter(({ roles: of }) => of.some((role) => asked.includes(role)));
  const ofThisNode = inTheWay.find((obstacle) => obstacle.isOfThisNode);
  const isLeft = (role: Role) => inTheWay.every(({ roles: of }) => !of.includes(role));
  return {
    isReady: ofThisNode === undefined && asked.some(isLeft),
    reason: (ofThisNode ?? inTheWay[0])?.reason,
  };
}
