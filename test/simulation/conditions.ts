import { SeededRandom } from "../workload/seeded-random.ts";
import { type Backend, DatabaseError } from "./backend.ts";
import { PROPERTIES } from "./batch.ts";
import type { PlantName } from "./plants.ts";

/** Faults of single statements, in the order in which a seed draws whether it has them. */
const REFUSALS = [
  new DatabaseError("40P01", "deadlock detected"),
  new DatabaseError("53100", "could not extend file: No space left on device"),
  new DatabaseError("57014", "canceling statement due to user request"),
  new DatabaseError("55P03", "canceling statement due to lock timeout"),
] as const;

/** A packet that is lost comes a little later; longer than this is a fault of the road. */
const LATE_MS_MAX = 400;

/** Longer than an applier may be silent (src/platform/db/coordination.ts). */
const READ_MS_MAX = 4_000;

/** Independent streams of a seed, so that one kind of draw does not move the others. */
export const STREAM = { world: 0, timing: 1, refusals: 2, senders: 3, faults: 4, ids: 5 } as const;

/**
 * The world of a seed: how large, how slow, how unreliable. A seed has few of all faults, as one that has all of them hides
 * what each does.
 */
export class Conditions {
  readonly plants: ReadonlySet<PlantName>;
  readonly hosts: number;
  readonly logWriters: number;
  readonly appliers: number;
  readonly properties: typeof PROPERTIES;
  readonly batches: number;
  readonly pollMs: number;
  /** Rows that one reading of the backlog answers: of a log writer and bucket, and records in all. */
  readonly partsMax: number;
  readonly recordsTarget: number;
  /** The share of parts that are applied in pieces, and of those that are large. */
  readonly largeShare: number;
  /** How long senders send, and then single statements and whole machines fail (ms). */
  readonly busyMs: number;
  readonly #timing: SeededRandom;
  readonly #refusals: SeededRandom;
  readonly #isQuick: boolean;
  readonly #slowChance: number;
  readonly #slowMs: number;
  readonly #refuseChance: number;
  readonly #loseChance: number;
  readonly #refuseRecordChance: number;
  readonly #refuseReadingChance: number;
  readonly #readsSlowly: boolean;
  areFaultsOver = false;

  constructor(seed: number, plants: ReadonlySet<PlantName>) {
    const world = SeededRandom.stream(seed, STREAM.world);
    this.#timing = SeededRandom.stream(seed, STREAM.timing);
    this.#refusals = SeededRandom.stream(seed, STREAM.refusals);
    this.plants = plants;
    this.hosts = world.pick([1, 2, 2, 3]);
    this.logWriters = world.pick([1, 1, 2, 3]);
    this.appliers = world.pick([1, 1, 2]);
    this.properties = PROPERTIES.slice(0, world.between(2, 4));
    this.batches = world.pick([6, 10, 15, 30]);
    this.pollMs = world.pick([300, 1_000, 3_000]);
    this.partsMax = world.between(1, 6);
    this.recordsTarget = world.pick([1, 3, 2_000, 6_000]);
    this.busyMs = world.pick([50, 500, 2_000, 8_000]);
    this.#isQuick = world.chance(0.5);
    this.#slowChance = world.chance(0.5) ? 0 : world.pick([0.003, 0.03, 0.2]);
    this.#slowMs = world.pick([20, 500, 25_000]);
    this.#refuseChance = world.chance(0.6) ? 0 : world.pick([0.003, 0.03]);
    this.#loseChance = world.chance(0.6) ? 0 : world.pick([0.003, 0.03]);
    this.#refuseRecordChance = world.chance(0.6) ? 0 : world.pick([0.02, 0.2]);
    this.#refuseReadingChance = world.chance(0.7) ? 0 : world.pick([0.02, 0.2]);
    this.#readsSlowly = world.chance(0.4);
    this.largeShare = world.pick([0, 0.1, 0.6]);
  }

  /** Nothing fails but what is planted, and nothing takes long. */
  get isCalm(): boolean {
    const chances = [this.#slowChance, this.#refuseChance, this.#loseChance, this.#refuseRecordChance];
    return !this.#readsSlowly && [...chances, this.#refuseReadingChance].every((chance) => chance === 0);
  }

  /** What a statement, or a step of one, takes. */
  thinkMs(): number {
    return this.#draw(0.02, this.#isQuick ? 0.1 : 2);
  }

  /** What a commit takes; others see it at its end. */
  commitMs(): number {
    return this.#draw(0.1, this.#isQuick ? 0.3 : 5);
  }

  applyMs(): number {
    return this.#draw(0.05, this.#isQuick ? 0.5 : 20);
  }

  latencyMs(): number {
    return this.#draw(0.02, this.#isQuick ? 0.1 : 1, LATE_MS_MAX);
  }

  /** One turn of a node's event loop. */
  turnMs(): number {
    return 0.01 + (this.#timing.next() % 100) / 1_000;
  }

  /** What reading a part takes in the node: nothing, a turn of its loop, or where it has to look something up, long. */
  readMs(): number {
    const draw = this.#timing.next();
    if ((draw & 3) !== 0) return 0;
    return this.#readsSlowly && (draw & 127) === 4 ? (draw >>> 8) % READ_MS_MAX : this.turnMs();
  }

  isOnDisk(): boolean {
    return (this.#timing.next() & 1) === 0;
  }

  /** The order in which a statement comes upon rows. */
  scanOrder<Item>(items: Item[]): Item[] {
    return (this.#timing.next() & 3) === 0 ? this.#timing.shuffle(items) : items;
  }

  /** An error instead of a statement. */
  refuse(_backend: Backend, name: string): DatabaseError | undefined {
    if (name === "rollback") return undefined;
    return this.#happens(this.#refuseChance) ? this.#refusals.pick(REFUSALS) : undefined;
  }

  /** An error instead of an answer, after whatever the statement did; the backend ends. */
  loseAnswer(_backend: Backend): DatabaseError | undefined {
    return this.#happens(this.#loseChance)
      ? new DatabaseError("57P01", "terminating connection due to administrator command")
      : undefined;
  }

  refuseRecord(): DatabaseError | undefined {
    return this.#happens(this.#refuseRecordChance) ? this.#refusals.pick(REFUSALS) : undefined;
  }

  /** Of a part that cannot be read now, as its property cannot be looked up. */
  refuseReading(): Error | undefined {
    return this.#happens(this.#refuseReadingChance)
      ? new Error("timeout exceeded when trying to connect")
      : undefined;
  }

  #happens(chance: number): boolean {
    return chance > 0 && !this.areFaultsOver && this.#refusals.chance(chance);
  }

  #draw(leastMs: number, mostMs: number, slowMsMax = Number.POSITIVE_INFINITY): number {
    const fraction = this.#timing.next() / 4_294_967_296;
    if (this.#slowChance > 0 && !this.areFaultsOver && this.#timing.chance(this.#slowChance))
      return mostMs + fraction * Math.min(slowMsMax, this.#slowMs);
    return leastMs + fraction * (mostMs - leastMs);
  }
}
