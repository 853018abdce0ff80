import {
  type Answer,
  type OpenApiDocument,
  type Operation,
  type PathItem,
  resolveReference,
  type Schema,
} from "../platform/http/openapi/model.ts";

/** Longer than any word of an answer, today's or a later release's. */
const WORD_CHARACTERS_MAX = 256;

/** The components that a part of the document refers to, through others too, such as `schemas/Reservation`. */
export function componentsWithin(
  document: OpenApiDocument,
  part: unknown,
  found = new Set<string>(),
): ReadonlySet<string> {
  for (const [, reference = ""] of JSON.stringify(part).matchAll(/"(#\/components\/[^"]+)"/g)) {
    const component = reference.slice("#/components/".length);
    if (found.has(component)) continue;
    found.add(component);
    componentsWithin(document, resolveReference(document, reference), found);
  }
  return found;
}

/** The schemas of request bodies, as `componentsWithin` names them. */
export function sentSchemas(document: OpenApiDocument): ReadonlySet<string> {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item) as Operation[]);
  return componentsWithin(
    document,
    operations.map(({ requestBody }) => requestBody ?? {}),
  );
}

/** A schema of answers that also admits those of a later release: more fields, and more words where there are some. */
function opened({ enum: words, ...schema }: Schema): Schema {
  const inner: { -readonly [Name in keyof Schema]?: Schema[Name] } = {};
  if (schema.properties !== undefined) {
    inner.properties = mapValues(schema.properties, opened);
    inner.additionalProperties = true;
  }
  if (schema.items !== undefined) inner.items = opened(schema.items);
  if (schema.anyOf !== undefined) inner.anyOf = schema.anyOf.map(opened);
  if (words !== undefined) {
    inner.maxLength = WORD_CHARACTERS_MAX;
    inner.pattern = "^[\\x21-\\x7e]+$";
    inner["x-extensible-enum"] = words.filter((word) => typeof word === "string");
  }
  return { ...schema, ...inner };
}

export function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

function withOpenContent(answer: Answer): Answer {
  if (answer.content === undefined) return answer;
  const content = mapValues(answer.content, (media) => ({ ...media, schema: opened(media.schema) }));
  return { ...answer, content };
}

/**
 * Opens the answers of a document, as docs/versioning.md promises additions without notice: objects have additional fields, and an
 * enumeration is a string with its known values in `x-extensible-enum`. A client generated from it reads later releases. What is sent
 * is unchanged: records are open in their own way, and forms refuse unknown fields.
 */
export function openAnswers(document: OpenApiDocument): OpenApiDocument {
  const sent = sentSchemas(document);
  const { components } = document;
  return {
    ...document,
    paths: mapValues(document.paths, (item) =>
      mapValues(item as Record<string, Operation>, (operation) => ({
        ...operation,
        responses: mapValues(operation.responses, (answer) =>
          "$ref" in answer ? answer : withOpenContent(answer),
        ),
      })),
    ) as Record<string, PathItem>,
    components: {
      ...components,
      responses: mapValues(components.responses, withOpenContent),
      schemas: mapValues(components.schemas, (schema, name) =>
        sent.has(`schemas/${name}`) ? schema : opened(schema),
      ),
    },
  };
}
