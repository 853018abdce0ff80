import type { PropertyCodes, Resource } from "../contract.ts";

/** A page of a property: codes may hold anything, so they stand in the query. */
export function propertyPath(
  page: string,
  { clientCode, propertyCode }: PropertyCodes,
  more: Readonly<Record<string, string>> = {},
): string {
  return `${page}?${new URLSearchParams({ clientCode, propertyCode, ...more })}`;
}

/** The history of one record. */
export function historyPath(codes: PropertyCodes, resource: Resource, key: string): string {
  return propertyPath("/history", codes, { resource, key });
}
