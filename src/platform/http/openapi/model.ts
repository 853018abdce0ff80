/** The subset of OpenAPI 3.1 that the document uses. */

/** The subset of JSON Schema 2020-12 that the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: string | number | boolean;
  readonly default?: string | number | boolean;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
  /** The known values of an open enumeration, and their meanings. */
  readonly "x-extensible-enum"?: readonly string[];
  readonly "x-enumDescriptions"?: Readonly<Record<string, string>>;
}

export interface Reference {
  readonly $ref: string;
}

export interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

export interface MediaType {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export type Content = Readonly<Record<string, MediaType>>;

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Parameter extends Header {
  readonly name: string;
  readonly in: "header" | "query" | "path";
}

export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Content;
}

export interface Server {
  readonly url: string;
  readonly description: string;
  readonly "x-internal": boolean;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly servers?: readonly Server[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: {
    readonly description: string;
    readonly required: boolean;
    readonly content: Content;
  };
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

export const METHODS = ["get", "post"] as const;
export type Method = (typeof METHODS)[number];
export type PathItem = Readonly<Partial<Record<Method, Operation>>>;

export interface Tag {
  readonly name: string;
  readonly description: string;
}

export interface SecurityScheme {
  readonly type: string;
  readonly description: string;
  readonly scheme?: string;
  readonly bearerFormat?: string;
  readonly flows?: {
    readonly clientCredentials: {
      readonly tokenUrl: string;
      readonly scopes: Readonly<Record<string, string>>;
    };
  };
}

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly Server[];
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Answer>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

export function refTo(section: keyof OpenApiDocument["components"], name: string): Reference {
  return { $ref: `#/components/${section}/${name}` };
}

export function schemaOf(name: string): Reference {
  return refTo("schemas", name);
}

/** Resolves a local reference (`#/components/…`). Throws if it does not exist. */
export function resolveReference(document: OpenApiDocument, reference: string): unknown {
  let at: unknown = document;
  for (const step of reference.replace(/^#\//, "").split("/")) {
    at = (at as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  if (at === undefined) throw new Error(`The document has no ${reference}.`);
  return at;
}

/** Resolves `thing` if it is a reference. */
export function resolved<T extends object>(
  document: OpenApiDocument,
  thing: T | Reference,
): Exclude<T, Reference> {
  const at = "$ref" in thing ? resolveReference(document, thing.$ref as string) : thing;
  return at as Exclude<T, Reference>;
}
