import { posix } from "node:path";
import type { Resolve } from "../page/inline-markdown.ts";
import { API_PATH, type Page, relativeAddress, type Section } from "./contents.ts";

/** Where files of the repository are served that are no pages. */
const ELSEWHERE: Readonly<Record<string, string>> = { "docs/openapi.json": "openapi.json" };

/** The file that an address in a page's text means, from the root of the repository. */
export function fileOf(page: Page, address: string): string {
  return posix.normalize(posix.join(posix.dirname(page.file), address.split("#")[0] ?? ""));
}

/**
 * What addresses in the texts of pages become: those of pages, pictures and the OpenAPI document lead there, those within
 * a page stay, those of the web stay; a file of the repository that is not served leads nowhere.
 */
export function linksOf(
  page: Page,
  sections: readonly Section[],
  pictures: ReadonlyMap<string, string>,
): Resolve {
  const paths = new Map<string, string>([["docs/api-reference", API_PATH]]);
  for (const one of sections.flatMap(({ pages }) => pages)) if ("file" in one) paths.set(one.file, one.path);
  return (address) => {
    if (address.startsWith("#") || /^[a-z]+:/i.test(address)) return address;
    const file = fileOf(page, address);
    const path = paths.get(file) ?? ELSEWHERE[file] ?? (pictures.has(file) ? file : undefined);
    if (path === undefined) return undefined;
    const [, fragment] = address.split("#");
    return relativeAddress(page.path, path) + (fragment === undefined ? "" : `#${fragment}`);
  };
}
