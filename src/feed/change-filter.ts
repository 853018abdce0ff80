import { ALL_BUCKETS, bucketOf } from "../accept/bucket.ts";
import type { ResourceLetter } from "../state/version-tables.ts";

/** Properties by their client code, arranged as a client's grants are: "*" is every property of the code. */
export type GrantedProperties = ReadonlyMap<string, ReadonlySet<string>>;

/** Which changes a reader is told of. */
export interface ChangeFilter {
  /** Nothing outside these is told, whatever else is asked for. */
  readonly granted: GrantedProperties;
  /** Only these; without it, all. */
  readonly resources?: readonly ResourceLetter[] | undefined;
  readonly clientCode?: string | undefined;
  /** Only together with its client code. */
  readonly propertyCode?: string | undefined;
}

/** The properties of a filter: all those of a client code, and single ones by both codes. */
export interface WantedProperties {
  readonly everyOf: readonly string[];
  readonly named: readonly { readonly clientCode: string; readonly propertyCode: string }[];
}

const EVERY_PROPERTY = "*";

/** What is granted, as far as it is asked for. */
export function wantedProperties({ granted, clientCode, propertyCode }: ChangeFilter): WantedProperties {
  const everyOf: string[] = [];
  const named: { clientCode: string; propertyCode: string }[] = [];
  for (const [code, properties] of granted) {
    if (clientCode !== undefined && clientCode !== code) continue;
    const isEvery = properties.has(EVERY_PROPERTY);
    if (propertyCode !== undefined) {
      if (isEvery || properties.has(propertyCode)) named.push({ clientCode: code, propertyCode });
    } else if (isEvery) everyOf.push(code);
    else for (const property of properties) named.push({ clientCode: code, propertyCode: property });
  }
  return { everyOf, named };
}

/**
 * The buckets whose changes a reader with this filter passes, which its positions are of. That of the one property it asks
 * for; otherwise all of them, also those in which nothing is granted: what is granted later is then told from then on,
 * in whichever bucket it lies.
 */
export function bucketsOf({ clientCode, propertyCode }: ChangeFilter): readonly number[] {
  if (clientCode === undefined || propertyCode === undefined) return ALL_BUCKETS;
  return [bucketOf(clientCode, propertyCode)];
}
