import {
  type OpenApiDocument,
  type Operation,
  type PathItem,
  refTo,
} from "../platform/http/openapi/model.ts";
import { componentsWithin, mapValues } from "./open-answers.ts";

/** For those who run the service: health, metrics, documentation. */
const OPERATING_TAG = "Service";
/** For services that check the tokens of others. */
const INTROSPECTION = "introspectToken";
/** A generated client would send this header with a body that it has not compressed. */
const COMPRESSION = refTo("parameters", "ContentEncoding").$ref;

function operationOf({ parameters, ...rest }: Operation): Operation {
  if (parameters === undefined) return rest;
  return { ...rest, parameters: parameters.filter((one) => !("$ref" in one && one.$ref === COMPRESSION)) };
}

function pathItemOf(item: PathItem): PathItem {
  const kept = Object.entries(item).filter(
    ([, { tags, operationId }]) => !tags.includes(OPERATING_TAG) && operationId !== INTROSPECTION,
  );
  return mapValues(Object.fromEntries(kept), operationOf);
}

/** The document with what a partner's integration calls, and without the components that nothing else needs. */
export function forIntegrations(document: OpenApiDocument): OpenApiDocument {
  const items = Object.entries(mapValues(document.paths, pathItemOf));
  const paths = Object.fromEntries(items.filter(([, item]) => Object.keys(item).length > 0));
  const used = componentsWithin(document, paths);
  const usedOf = <Part>(section: string, all: Readonly<Record<string, Part>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`${section}/${name}`)));
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const schemes = new Set(operations.flatMap(({ security }) => security.flatMap(Object.keys)));
  const { securitySchemes, parameters, headers, responses, schemas } = document.components;
  return {
    ...document,
    tags: document.tags.filter(({ name }) => name !== OPERATING_TAG),
    paths,
    components: {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).filter(([name]) => schemes.has(name)),
      ),
      parameters: usedOf("parameters", parameters),
      headers: usedOf("headers", headers),
      responses: usedOf("responses", responses),
      schemas: usedOf("schemas", schemas),
    },
  };
}
