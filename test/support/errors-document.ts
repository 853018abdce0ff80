import { STATUS_CODES } from "node:http";
import { ERRORS, type ErrorCode, type ErrorEntry } from "../../src/platform/errors/registry.ts";
import { type Answer, type OpenApiDocument, resolved } from "../../src/platform/http/openapi/model.ts";

/** The errors by what may be sent again, in the order of their statuses, then of the registry. */
function codesTo(again: "same" | "fixed"): ErrorCode[] {
  return (Object.keys(ERRORS) as ErrorCode[])
    .filter((code) => ((ERRORS[code] as ErrorEntry).again ?? "fixed") === again)
    .sort((left, right) => ERRORS[left].status - ERRORS[right].status);
}

interface Endpoint {
  readonly name: string;
  readonly method: string;
  /** Its group in the API reference. */
  readonly tag: string;
}

function endpointsOf(document: OpenApiDocument): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { tags }]) => ({
      name: endpointName(method, path),
      method,
      tag: tags[0] ?? "",
    })),
  );
}

const endpointName = (method: string, path: string) => `${method.toUpperCase()} ${path}`;

/** The operations that can answer each code, by what the document says. */
function answeredBy(document: OpenApiDocument): ReadonlyMap<string, ReadonlySet<string>> {
  const places = new Map<string, Set<string>>();
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item))
      for (const answer of Object.values(operation.responses))
        for (const code of codesOf(resolved(document, answer) as Answer))
          places.set(code, (places.get(code) ?? new Set()).add(endpointName(method, path)));
  return places;
}

function codesOf({ content }: Answer): string[] {
  return Object.keys(content?.["application/json"]?.examples ?? {}).filter((name) => name in ERRORS);
}

/** More than these are named by the groups of the API reference. */
const PLACES_LISTED_MAX = 6;

const namesOf = (endpoints: readonly Endpoint[]) => endpoints.map(({ name }) => `\`${name}\``).join(", ");

function groupsText(all: readonly Endpoint[], isAmong: (endpoint: Endpoint) => boolean): string {
  const parts = [...new Set(all.map(({ tag }) => tag))].flatMap((tag) => {
    const group = all.filter((endpoint) => endpoint.tag === tag);
    const among = group.filter(isAmong);
    const posts = group.filter(({ method }) => method === "post");
    if (among.length === 0) return [];
    if (among.length === group.length) return `*${tag}*`;
    if (among.length === posts.length && posts.every(isAmong)) return `POST of *${tag}*`;
    const others = group.filter((endpoint) => !isAmong(endpoint));
    return others.length < among.length ? `*${tag}* (not ${namesOf(others)})` : namesOf(among);
  });
  return new Intl.ListFormat("en-GB").format(parts);
}

function placesText(all: readonly Endpoint[], code: ErrorCode, places: ReadonlySet<string>): string {
  // Operations with an id in their path describe their own 404; the address of each can be misspelt.
  if (code === "bellhop.http.NotFound") return "an address that does not exist";
  if (places.size === 0 || places.size === all.length) return "every endpoint";
  const isAmong = ({ name }: Endpoint) => places.has(name);
  if (places.size <= PLACES_LISTED_MAX) return namesOf(all.filter(isAmong));
  if (places.size <= all.length / 2) return groupsText(all, isAmong);
  return `every endpoint except ${groupsText(all, (endpoint) => !isAmong(endpoint))}`;
}

function sectionOf(code: ErrorCode, places: string): string {
  const { status, text, cause, remedy, more }: ErrorEntry = ERRORS[code];
  return [
    `### ${code}`,
    `**${status} ${STATUS_CODES[status]}**. Default message: "${text}"`,
    `- **When:** ${cause}.\n- **What to do:** ${remedy}.\n- **Answered by:** ${places}.`,
    ...(more === undefined ? [] : [more]),
  ].join("\n\n");
}

/** The parts of docs/errors.md that are made from the registry, by their markers. */
export function errorSections(document: OpenApiDocument): Readonly<Record<string, string>> {
  const all = endpointsOf(document);
  const places = answeredBy(document);
  const sections = (again: "same" | "fixed") =>
    codesTo(again)
      .map((code) => sectionOf(code, placesText(all, code, places.get(code) ?? new Set())))
      .join("\n\n");
  return {
    "errors-same": sections("same"),
    "errors-fix": sections("fixed"),
  };
}

/** A document with the text between its markers (`<!-- generated: name -->` or `<!-- checked: name -->`, `<!-- end -->`) made anew, where `sections` has it. */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  return document.replace(
    /(<!-- (?:generated|checked): ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole: string, open: string, name: string, close: string) =>
      sections[name] === undefined ? whole : `${open}\n${sections[name]}\n\n${close}`,
  );
}
