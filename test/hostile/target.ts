import { SeededRandom } from "../workload/seeded-random.ts";
import { BROKEN_ENCODINGS } from "./broken-encodings.ts";
import { BROKEN_JSON } from "./broken-json.ts";
import { BROKEN_RECORDS } from "./broken-records.ts";
import { BROKEN_REQUESTS } from "./broken-requests.ts";
import { HEADER_SHOTS } from "./header-shots.ts";
import { READ_SHOTS } from "./read-shots.ts";
import type { Arms, Shot } from "./shot.ts";
import { TOKEN_SHOTS } from "./token-shots.ts";

/** Makes one shot; each kind has a share of all. */
export type Shares = readonly (readonly [number, (random: SeededRandom, arms: Arms) => Shot])[];

const BODIES: Shares = [...BROKEN_JSON, ...BROKEN_RECORDS, ...BROKEN_ENCODINGS, ...BROKEN_REQUESTS].map(
  ([share, make]) => [share, (random, arms) => make(random, arms.token)],
);

/** What can be fired at, and with what. */
export const TARGETS = {
  bodies: BODIES,
  token: TOKEN_SHOTS,
  headers: HEADER_SHOTS,
  reads: READ_SHOTS,
} as const satisfies Record<string, Shares>;

export type TargetName = keyof typeof TARGETS;

/** The shot of this number: each is made from a stream of its own, so that one can be made again alone. */
export function makeShot(target: TargetName, seed: number, number: number, arms: Arms): Shot {
  const shares: Shares = TARGETS[target];
  const random = SeededRandom.stream(seed, number);
  let at = random.between(0, shares.reduce((sum, [share]) => sum + share, 0) - 1);
  const [, make] = shares.find(([share]) => {
    at -= share;
    return at < 0;
  }) as Shares[number];
  return make(random, arms);
}
