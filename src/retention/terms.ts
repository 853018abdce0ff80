import type { ResourceLetter } from "#contract/resource.ts";
import { RESOURCE_LETTERS } from "../apply/state/record.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

/** All retention settings (docs/retention.md) of client codes and of the default (*). */
const readTerms = namedStatement(
  "read-terms",
  `select client_code, name, value from bellhop.property_setting
  where property_code is null and name like 'retention.%'
  order by client_code, name`,
);

/** Kinds of data with a separate retention period: payloads, outcomes, and versions that are no longer current. */
export const RETAINED = ["payloads", "outcomes", "versions"] as const;
export type Retained = (typeof RETAINED)[number];

/** The default for client codes without a retention period of their own. */
export const EVERY_CLIENT = "*";

/** How long a client code's data of a resource and kind is retained, in milliseconds; Infinity: for ever. */
export interface Term {
  readonly clientCode: string;
  readonly resource: ResourceLetter;
  readonly kind: Retained;
  readonly ms: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const FOREVER = "forever";

/** Milliseconds of `90d`, `36h`, `5m` or `forever` (Infinity); undefined for other text. */
export function readTerm(text: string): number | undefined {
  if (text === FOREVER) return Number.POSITIVE_INFINITY;
  const [, count = "0", unit = ""] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return ms > 0 ? ms : undefined;
}

/** The setting's name of a retention period. */
export function settingOfTerm(kind: Retained, resource: ResourceLetter): string {
  return `retention.${kind}.${resource}`;
}

/** All configured retention periods, with lookup by client code; the default is for ever. */
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

  /** The default periods that have passed at this age, and the client codes' periods for which the answer differs from the default's. */
  over(ageMs: number): readonly Term[] {
    const isOver = ({ clientCode, resource, kind }: Term) => this.of(clientCode, resource, kind) <= ageMs;
    return this.#set.filter((term) => {
      const isOfEveryone = term.clientCode === EVERY_CLIENT;
      return isOver(term) !== (!isOfEveryone && isOver({ ...term, clientCode: EVERY_CLIENT }));
    });
  }

  /** The shortest configured period of a kind; Infinity if there is none. */
  shortest(kind: Retained): number {
    return Math.min(...this.#set.filter((term) => term.kind === kind).map(({ ms }) => ms));
  }
}

/** All configured periods. */
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

/** The text of a period: the inverse of `readTerm`. */
export function writeTerm(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return FOREVER;
  for (const unit of ["d", "h"]) {
    const length = UNIT_MS[unit] as number;
    if (ms % length === 0) return `${ms / length}${unit}`;
  }
  return `${ms / 60_000}m`;
}
