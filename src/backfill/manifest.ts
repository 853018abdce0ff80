import { integerValue } from "#contract/decimal.ts";
import { findViolations, ViolationList } from "#contract/find-violations.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import {
  count,
  date,
  identity,
  list,
  object,
  optional,
  period,
  text,
  type ValueOf,
  word,
} from "#contract/schema/field.ts";
import type { Violation } from "#contract/violation.ts";
import { ServiceError } from "../platform/errors/registry.ts";

/** Ten years and some days: whoever names more has most likely a wrong year. */
export const DAYS_MAX = 3_700;
const DAY_MS = 86_400_000;
const VIOLATIONS_MAX = 100;

/** What is coming of one resource: dates, both included, and how many different records. */
export interface ManifestResource {
  readonly resource: Resource;
  readonly from: string;
  readonly to: string;
  /** Null: nothing was said of it, and nothing can fall short of it. */
  readonly expectedRecords: number | null;
}

/** What a partner says is coming: of one property, each resource once. */
export interface Manifest {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly resources: readonly ManifestResource[];
  readonly note: string | null;
}

const manifestResource = period("What is coming of one resource", ["from", "to"], {
  resource: word("The kind of the records", ["inventories", "reservations", "groups"]),
  from: date(
    "The first date that the records speak of; of inventories, the first occupancy date",
    "2024-07-01",
  ),
  to: date("The last of them, at most 3,700 days after the first", "2026-06-30"),
  expectedRecords: optional(
    count("How many different records there are (by occupancyDate, reservationId or groupCode)", 730),
  ),
});

/** The body of `POST /api/public/v1/backfills`: checked by it, and described by it in the OpenAPI document. */
export const manifestSchema = object("What a backfill is going to bring", {
  clientCode: identity("The client code of the property", "ACME"),
  propertyCode: identity("The property code", "PARIS01"),
  resources: list("What is coming; each resource once", manifestResource, 1),
  note: optional(text("A text of your own, which the closing statement repeats", "go-live July 2026")),
});

type SentManifest = ValueOf<typeof manifestSchema>;

/** Days from one date to another, both included. */
export function daysIn({ from, to }: Pick<ManifestResource, "from" | "to">): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

function invalid(violations: readonly Violation[], violationTotal = violations.length): ServiceError {
  return new ServiceError("bellhop.backfill.InvalidManifest", { violations, violationTotal });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new ServiceError("bellhop.backfill.InvalidManifest", {
      message: "The manifest is not JSON in UTF-8.",
      cause,
    });
  }
}

/** What the schema cannot say: each resource once, a span that can be meant, a number that counts, nothing that cannot be stored. */
function furtherViolations({ resources, clientCode, propertyCode, note = "" }: SentManifest): Violation[] {
  const found: Violation[] = [];
  const seen = new Set<string>();
  for (const [name, value] of Object.entries({ clientCode, propertyCode, note })) {
    if (value.includes("\0"))
      found.push({
        pointer: `/${name}`,
        code: "text.nul",
        message: `${name} must not have the character NUL`,
      });
    else if (!value.isWellFormed())
      found.push({
        pointer: `/${name}`,
        code: "text.surrogate",
        message: `${name} must not have an unpaired surrogate`,
      });
  }
  for (const [at, named] of resources.entries()) {
    const pointer = `/resources/${at}`;
    if (seen.has(named.resource))
      found.push({
        pointer: `${pointer}/resource`,
        code: "enum",
        message: `resource must stand once; ${named.resource} stands before`,
      });
    seen.add(named.resource);
    if (daysIn(named) > DAYS_MAX)
      found.push({
        pointer: `${pointer}/to`,
        code: "order.dates",
        message: `to must be at most ${DAYS_MAX} days after from`,
      });
    if (named.expectedRecords !== undefined && (integerValue(named.expectedRecords) ?? 0) < 0)
      found.push({
        pointer: `${pointer}/expectedRecords`,
        code: "number.range",
        message: "expectedRecords must not be below 0",
      });
  }
  return found;
}

/**
 * Reads a manifest from the body that was sent. Throws ServiceError `bellhop.backfill.InvalidManifest` (400) with all that is
 * wrong with it; pointers are RFC 6901 into the manifest.
 *
 * @example
 * readManifest(Buffer.from('{"clientCode":"ACME","propertyCode":"PARIS01","resources":[{"resource":"inventories","from":"2024-07-01","to":"2026-06-30"}]}'))
 */
export function readManifest(body: Buffer): Manifest {
  const value = parse(body);
  const found = new ViolationList(0, VIOLATIONS_MAX, [], 0);
  found.path.length = 0;
  findViolations(manifestSchema, value, found);
  if (found.total > 0) throw invalid(found.kept, found.total);
  const sent = value as SentManifest;
  const further = furtherViolations(sent);
  if (further.length > 0) throw invalid(further.slice(0, VIOLATIONS_MAX), further.length);
  const order = (of: Resource) => RESOURCES.indexOf(of);
  return {
    clientCode: sent.clientCode,
    propertyCode: sent.propertyCode,
    resources: sent.resources
      .map(({ resource, from, to, expectedRecords }) => ({
        resource,
        from,
        to,
        expectedRecords: expectedRecords === undefined ? null : (integerValue(expectedRecords) ?? null),
      }))
      .sort((left, right) => order(left.resource) - order(right.resource)),
    note: sent.note ?? null,
  };
}
