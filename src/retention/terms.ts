import type { ResourceLetter } from "#contract/resource.ts";
import { RESOURCE_LETTERS } from "../apply/state/record.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

/** What is set of retention (docs/retention.md), of client codes and of all that have nothing of their own (*). */
const readTerms = namedStatement(
  "read-terms",
  `select client_code, name, value from bellhop.property_setting
  where property_code is null and name like 'retention.%'
  order by client_code, name`,
);

/** The kinds of data with a retention term of their own: payloads, outcomes, and versions that are no longer current. */
export const RETAINED = ["payloads", "outcomes", "versions"] as const;
export type Retained = (typeof RETAINED)[number];

/** Stands for every client code that has no term of its own. */
export const EVERY_CLIENT = "*";

/** How long what is kept of a client code's resource, in milliseconds; Infinity: for ever. */
export interface Term {
  readonly clientCode: string;
  readonly resource: ResourceLetter;
  readonly kind: Retained;
  readonly ms: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const FOREVER = "forever";

/** Milliseconds of `90d`, `36h`, `5m` or `forever` (Infinity); undefined of anything else, and of nothing at all. */
export function readTerm(text: string): number | undefined {
  if (text === FOREVER) return Number.POSITIVE_INFINITY;
  const [, count = "0", unit = ""] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return ms > 0 ? ms : undefined;
}

/** Under which name a term stands among a client code's settings. */
export function settingOfTerm(kind: Retained, resource: ResourceLetter): string {
  return `retention.${kind}.${resource}`;
}

/** Every term that is set, and how long whatever is kept of whom: for ever where nothing is said. */
export class Terms {
  readonly #set: readonly Term[];
  readonly #ms: ReadonlyMap<string, number>;

  constructor(set: readonly Term[]) {
    this.#set = set;
    this.#ms = new Map(
      set.map(({ clientCode, resource, kind, ms }) => [`${kind} ${resource} ${clientCode}`, ms]),
    );
  }

  /** In milliseconds. */
  of(clientCode: string, resource: ResourceLetter, kind: Retained): number {
    const own = this.#ms.get(`${kind} ${resource} ${clientCode}`);
    return own ?? this.#ms.get(`${kind} ${resource} ${EVERY_CLIENT}`) ?? Number.POSITIVE_INFINITY;
  }

  /** The terms that are over after so long, and those of single client codes that are not where that of everyone is. */
  over(ageMs: number): readonly Term[] {
    const isOver = ({ clientCode, resource, kind }: Term) => this.of(clientCode, resource, kind) <= ageMs;
    return this.#set.filter((term) => {
      const isOfEveryone = term.clientCode === EVERY_CLIENT;
      return isOver(term) !== (!isOfEveryone && isOver({ ...term, clientCode: EVERY_CLIENT }));
    });
  }

  /** The shortest of all that are set of a kind; Infinity where none is. */
  shortest(kind: Retained): number {
    return Math.min(...this.#set.filter((term) => term.kind === kind).map(({ ms }) => ms));
  }
}

/** Every term that is set. */
export async function listTerms(on: Queryable): Promise<Term[]> {
  const { rows } = await on.query<{ client_code: string; name: string; value: string }>(readTerms);
  return rows.flatMap(({ client_code: clientCode, name, value }) => {
    const [, kind, resource] = name.split(".");
    const ms = readTerm(value);
    const known = RETAINED.find((one) => one === kind);
    const letter = RESOURCE_LETTERS.find((one) => one === resource);
    return known === undefined || letter === undefined || ms === undefined
      ? []
      : [{ clientCode, resource: letter, kind: known, ms }];
  });
}

/** A term as it is written: the inverse of `readTerm`. */
export function writeTerm(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return FOREVER;
  for (const unit of ["d", "h"]) {
    const length = UNIT_MS[unit] as number;
    if (ms % length === 0) return `${ms / length}${unit}`;
  }
  return `${ms / 60_000}m`;
}
