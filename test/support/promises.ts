import {
  type Answer,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolved,
  type Schema,
} from "../../src/platform/http/openapi/model.ts";

const UPPER = ["maxLength", "maxItems", "maximum", "maxProperties"] as const;
const LOWER = ["minLength", "minItems", "minimum"] as const;
type Bounds = Partial<Record<(typeof UPPER)[number] | (typeof LOWER)[number], number>>;

/**
 * What a version of the contract promises, as `/api/public/v1` is frozen (docs/contract.md, "Versioning"): `kept` may
 * only grow; `demanded`, what a partner must send, may only shrink; `bounds` may only widen, and a pattern may only go.
 */
export interface Promises {
  readonly kept: readonly string[];
  readonly demanded: readonly string[];
  readonly bounds: Readonly<Record<string, Bounds & { readonly pattern?: string }>>;
}

/** Schemas that were renamed before 1.0.0: their names are on no wire, and promises keep those that they were made under. */
const PROMISED_AS: Readonly<Record<string, string>> = {
  ErrorBody: "Error",
  ViolationBody: "Violation",
  WebhookRegistered: "NewWebhookEndpoint",
  WebhookTestQueued: "WebhookTest",
};
const promisedName = (name: string) => PROMISED_AS[name] ?? name;

/** The names of components that can be reached from a schema, through others. */
function reachable(document: OpenApiDocument, from: unknown, found = new Set<string>()): Set<string> {
  for (const [, name = ""] of JSON.stringify(from).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    reachable(document, document.components.schemas[name], found);
  }
  return found;
}

class Collector {
  readonly kept = new Set<string>();
  readonly demanded = new Set<string>();
  readonly bounds: Record<string, Bounds & { pattern?: string }> = {};

  schema(at: string, schema: Schema, sent: boolean): void {
    const reference = schema.$ref?.split("/").at(-1);
    const type =
      reference === undefined ? [schema.type ?? "any"].flat().sort().join("|") : promisedName(reference);
    this.kept.add(`${at}: ${type}`);
    const words = schema.enum ?? schema["x-extensible-enum"] ?? [];
    // Null is the only value of its type.
    const isNullable = words.length > 0 && [schema.type].flat().includes("null");
    for (const word of [...words, ...(isNullable ? [null] : [])]) this.kept.add(`${at} knows ${word}`);
    // The known words of an answer are promised, and no bounds of the unknown ones.
    const isOpen = !sent && schema["x-extensible-enum"] !== undefined;
    const entries = isOpen
      ? []
      : [...UPPER, ...LOWER, "pattern" as const].flatMap((name) =>
          schema[name] === undefined ? [] : [[name, schema[name]]],
        );
    if (entries.length > 0) this.bounds[at] = Object.fromEntries(entries);
    for (const name of schema.required ?? []) {
      if (sent) this.demanded.add(`${at}.${name}`);
      else this.kept.add(`${at}.${name} is always there`);
    }
    for (const [name, property] of Object.entries(schema.properties ?? {}))
      this.schema(`${at}.${name}`, property, sent);
    if (schema.items !== undefined) this.schema(`${at}[]`, schema.items, sent);
    for (const part of schema.anyOf ?? []) this.schema(`${at}|${part.type}`, part, sent);
  }

  operation(document: OpenApiDocument, at: string, operation: Operation): void {
    this.kept.add(at);
    for (const scope of operation.security.flatMap((scheme) => scheme["oauth2"] ?? []))
      this.demanded.add(`${at} scope ${scope}`);
    for (const given of operation.parameters ?? []) {
      const { name, in: place, required, schema } = resolved(document, given) as Parameter;
      this.schema(`${at} ${place} ${name}`, schema, true);
      if (required === true) this.demanded.add(`${at} ${place} ${name}`);
    }
    for (const [type, media] of Object.entries(operation.requestBody?.content ?? {}))
      this.schema(`${at} takes ${type}`, media.schema, true);
    for (const [status, answer] of Object.entries(operation.responses))
      this.answer(`${at} ${status}`, resolved(document, answer) as Answer);
  }

  answer(at: string, { headers, content }: Answer): void {
    this.kept.add(at);
    for (const name of Object.keys(headers ?? {})) this.kept.add(`${at} header ${name}`);
    for (const [type, { schema, examples }] of Object.entries(content ?? {})) {
      this.schema(`${at} ${type}`, schema, false);
      for (const code of Object.keys(examples ?? {}).filter((name) => name.startsWith("bellhop.")))
        this.kept.add(`${at} ${code}`);
    }
  }
}

/** Everything that a document promises, sorted. */
export function promisesOf(document: OpenApiDocument): Promises {
  const collector = new Collector();
  const bodies: unknown[] = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      collector.operation(document, `${method.toUpperCase()} ${path}`, operation);
      bodies.push(operation.requestBody ?? {});
    }
  }
  const sent = reachable(document, bodies);
  for (const [name, schema] of Object.entries(document.components.schemas))
    collector.schema(promisedName(name), schema, sent.has(name));
  const bounds = Object.fromEntries(Object.entries(collector.bounds).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { kept: [...collector.kept].sort(), demanded: [...collector.demanded].sort(), bounds };
}

/** Whether what a demand is about was there before: what is new may demand what it will. */
function existed(frozen: Promises, demand: string): boolean {
  const operation = /^[A-Z]+ \/\S*/.exec(demand)?.[0];
  if (operation !== undefined) return frozen.kept.includes(operation);
  const owner = demand.slice(0, demand.lastIndexOf("."));
  return frozen.kept.some((kept) => kept.startsWith(`${owner}: `));
}

/** Every promise of a frozen contract that the present one breaks, in words. */
export function brokenPromises(frozen: Promises, now: Promises): string[] {
  const kept = new Set(now.kept);
  const demanded = new Set(frozen.demanded);
  const tighter = Object.entries(now.bounds).flatMap(([at, bound]) => {
    if (!frozen.kept.some((promise) => promise.startsWith(`${at}: `))) return [];
    const before = frozen.bounds[at] ?? {};
    return [
      ...UPPER.filter((name) => (bound[name] ?? Infinity) < (before[name] ?? Infinity)),
      ...LOWER.filter((name) => (bound[name] ?? -Infinity) > (before[name] ?? -Infinity)),
      ...(bound.pattern !== undefined && bound.pattern !== before.pattern ? ["pattern"] : []),
    ].map((name) => `tighter: ${name} of ${at}`);
  });
  return [
    ...frozen.kept.filter((promise) => !kept.has(promise)).map((promise) => `gone: ${promise}`),
    ...now.demanded
      .filter((demand) => !demanded.has(demand) && existed(frozen, demand))
      .map((demand) => `demanded: ${demand}`),
    ...tighter,
  ];
}
