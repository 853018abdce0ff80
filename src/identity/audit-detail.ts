import { type Grant, parseGrant } from "./grants.ts";
import { EVERYTHING, type Scope } from "./scope.ts";

/** The members that list grants, of `create-client`, `update-client`, `create-operator` and `set-operator-rights`. */
const GRANT_LISTS: ReadonlySet<string> = new Set(["grants", "added", "removed"]);

type Detail = Readonly<Record<string, unknown>>;

const isDetail = (value: unknown): value is Detail => typeof value === "object" && value !== null;

/** The grant that an entry of a list is, as of a client (`{clientCode, propertyCode}`) or an operator (`CODE/PROPERTY`). */
function grantOf(entry: unknown): Grant | undefined {
  if (typeof entry === "string") {
    const grant = parseGrant(entry);
    return typeof grant === "string" ? undefined : grant;
  }
  const { clientCode, propertyCode } = isDetail(entry) ? entry : {};
  return typeof clientCode === "string" && typeof propertyCode === "string"
    ? { clientCode, propertyCode }
    : undefined;
}

function isWithin(scope: Scope, entry: unknown): boolean {
  if (entry === EVERYTHING) return scope.isEverything;
  const grant = grantOf(entry);
  return grant === undefined || scope.permits(grant.clientCode, grant.propertyCode);
}

function confineList(list: readonly unknown[], scope: Scope): readonly unknown[] {
  const within = list.filter((entry) => isWithin(scope, entry));
  const outside = list.length - within.length;
  return outside > 0 ? [...within, `and ${outside} outside your properties`] : within;
}

/**
 * An audit entry's detail as an operator may see it: a client or operator that is within the scope may have had other grants when the entry
 * was written.
 */
export function confineDetail(detail: Detail, scope: Scope): Detail {
  const members = Object.entries(detail).map(([name, value]) => {
    if (Array.isArray(value)) return [name, GRANT_LISTS.has(name) ? confineList(value, scope) : value];
    return [name, isDetail(value) ? confineDetail(value, scope) : value];
  });
  return Object.fromEntries(members);
}
