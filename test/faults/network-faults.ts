import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { DatabaseRoad } from "../support/database-road.ts";
import type { RoadWay } from "../support/road-way.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import type { ServiceProcess } from "./service-process.ts";
import { type Takeover, watchTakeover } from "./takeover.ts";

/**
 * Faults of one node's connections to the database: closed by RST or FIN, closed within the response to a flush or
 * commit, blocked in one or both directions and then released or cut, silently lost while new ones work, or slow and
 * fragmented.
 */
export const NETWORK_FAULTS = [
  "reset",
  "fin",
  "answer",
  "hole",
  "hole-to",
  "hole-from",
  "lost",
  "slow",
] as const;
export type NetworkFault = (typeof NETWORK_FAULTS)[number];

/** Which of a node's connections: all, those of its log writers, of its appliers, or of its pools. */
const TARGETS = {
  all: () => true,
  logWriters: (name: string) => name === "bellhop accept",
  appliers: (name: string) => name.startsWith("bellhop apply"),
  pools: (name: string) => name === "bellhop",
} as const satisfies Record<string, (name: string) => boolean>;

const LASTS_MS = { least: 6_000, most: 9_000 } as const;
/** Some batch is flushed and applied by then. */
const ANSWERED_MS_MAX = 5_000;
const ANSWERS_MAX = 3;

/** A fault as the seed has it; every draw is made whatever the fault, so that a seed's schedule is the same with `only`. */
export interface Drawn {
  readonly node: number;
  readonly fault: NetworkFault;
  readonly target: keyof typeof TARGETS;
  readonly lastsMs: number;
  readonly endsCut: boolean;
  readonly share: number;
  readonly trickle: { readonly delayMs: number; readonly pieceBytes: number };
}

export function drawFaults(seed: number, nodes: number, only: NetworkFault | undefined): () => Drawn {
  const random = SeededRandom.stream(seed, 2);
  return () => {
    const node = random.between(0, nodes - 1);
    const fault = random.pick(NETWORK_FAULTS);
    return {
      node,
      fault: only ?? fault,
      target: random.pick(["all", "all", "logWriters", "appliers", "pools"] as const),
      lastsMs: random.between(LASTS_MS.least, LASTS_MS.most),
      endsCut: random.chance(0.5),
      share: random.between(0, 100) / 100,
      trickle: { delayMs: random.between(5, 60), pieceBytes: random.between(200, 4_000) },
    };
  };
}

/** As it is printed. */
export function nameOf({ fault, target, lastsMs, endsCut }: Drawn): string {
  if (fault === "slow") return `slow for ${lastsMs} ms`;
  if (fault.startsWith("hole")) return `${fault} for ${lastsMs} ms, then ${endsCut ? "cut" : "released"}`;
  return `${fault} of ${target}`;
}

/** Breaks the road of one node and mends it again; the takeover where its buckets go to others. */
export async function breakRoad(
  drawn: Drawn,
  node: ServiceProcess,
  road: DatabaseRoad,
  pool: pg.Pool,
): Promise<Takeover | undefined> {
  const { fault, target, lastsMs } = drawn;
  const startedAt = performance.now();
  const hit = road.ways.filter(({ name }) => TARGETS[target](name));
  const rest = () => delay(Math.max(0, lastsMs - (performance.now() - startedAt)));
  switch (fault) {
    case "reset":
    case "fin":
      for (const way of hit) way.cut(fault === "fin" ? "end" : "reset");
      return undefined;
    case "answer":
      await cutAnswers(hit, drawn.share);
      return undefined;
    case "slow":
      road.slow(drawn.trickle);
      await rest();
      road.release();
      return undefined;
    case "lost": {
      const lose = () => {
        for (const way of hit) way.lose();
      };
      // Without their appliers' connections they keep what they have.
      if (target === "all" || target === "appliers") return await watchTakeover(pool, node.pid, lose);
      lose();
      return undefined;
    }
    default: {
      const takeover = await watchTakeover(pool, node.pid, () =>
        road.swallow({ toDatabase: fault !== "hole-from", fromDatabase: fault !== "hole-to" }),
      );
      await rest();
      if (drawn.endsCut) for (const way of road.ways) way.cut("reset");
      road.release();
      return takeover;
    }
  }
}

/** The next answers to something written break off: what was written is there, and the node does not know. */
async function cutAnswers(ways: readonly RoadWay[], share: number): Promise<void> {
  let left = ANSWERS_MAX;
  const done = Promise.withResolvers<void>();
  for (const way of ways)
    way.cutInAnswer(share, () => {
      left -= 1;
      if (left === 0) done.resolve();
    });
  await Promise.race([done.promise, delay(ANSWERED_MS_MAX)]);
  for (const way of ways) way.spareAnswers();
}
