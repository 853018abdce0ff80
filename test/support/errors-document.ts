import { STATUS_CODES } from "node:http";
import { ERRORS, type ErrorCode, type ErrorEntry } from "../../src/platform/errors/registry.ts";
import { type Answer, type OpenApiDocument, resolved } from "../../src/platform/http/openapi/model.ts";

/** The errors by what may be sent again, in the order of their statuses, then of the registry. */
function codesTo(again: "same" | "fixed"): ErrorCode[] {
  return (Object.keys(ERRORS) as ErrorCode[])
    .filter((code) => ((ERRORS[code] as ErrorEntry).again ?? "fixed") === again)
    .sort((left, right) => ERRORS[left].status - ERRORS[right].status);
}

/** The operations that can answer each code, by what the document says. */
function answeredBy(document: OpenApiDocument): ReadonlyMap<string, ReadonlySet<string>> {
  const places = new Map<string, Set<string>>();
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item))
      for (const answer of Object.values(operation.responses))
        for (const code of codesOf(resolved(document, answer) as Answer))
          places.set(code, (places.get(code) ?? new Set()).add(`${method.toUpperCase()} ${path}`));
  return places;
}

function codesOf({ content }: Answer): string[] {
  return Object.keys(content?.["application/json"]?.examples ?? {}).filter((name) => name in ERRORS);
}

/** More than these are nearly all: a list of them would tell nothing. */
const PLACES_LISTED_MAX = 6;

function placesText(places: ReadonlySet<string>): string {
  if (places.size === 0) return "any address";
  if (places.size > PLACES_LISTED_MAX) return "most addresses of the API";
  return [...places].map((place) => `\`${place}\``).join(", ");
}

function sectionOf(code: ErrorCode, places: ReadonlySet<string>): string {
  const { status, text, cause, remedy, more }: ErrorEntry = ERRORS[code];
  return [
    `### ${code}`,
    `**${status} ${STATUS_CODES[status]}**. Default message: "${text}"`,
    `- **When:** ${cause}.\n- **What to do:** ${remedy}.\n- **Answered by:** ${placesText(places)}.`,
    ...(more === undefined ? [] : [more]),
  ].join("\n\n");
}

/** The parts of docs/errors.md and docs/contract.md that are made from the registry, by their markers. */
export function errorSections(document: OpenApiDocument): Readonly<Record<string, string>> {
  const places = answeredBy(document);
  const sections = (again: "same" | "fixed") =>
    codesTo(again)
      .map((code) => sectionOf(code, places.get(code) ?? new Set()))
      .join("\n\n");
  const rows = [...codesTo("fixed"), ...codesTo("same")]
    .sort((left, right) => ERRORS[left].status - ERRORS[right].status)
    .map((code) => {
      const { status, cause, remedy } = ERRORS[code];
      return `| \`${code}\` | ${status} | ${cause} | ${remedy} |`;
    });
  return {
    "errors-same": sections("same"),
    "errors-fix": sections("fixed"),
    errors: ["| `exception` | Status | When | What to do |", "|---|---|---|---|", ...rows].join("\n"),
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
