import assert from "node:assert/strict";
import { parser } from "@prometheus-io/lezer-promql";

/** One series at one moment. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What was scraped at a moment, in seconds: a metric's name is its label `__name__`. */
export interface Scrape {
  readonly at: number;
  readonly samples: readonly Sample[];
}

/** A node of the grammar's tree, with its text. */
interface Node {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Node[];
}

function treeOf(expression: string): Node {
  const nodeAt = (cursor: ReturnType<ReturnType<typeof parser.parse>["cursor"]>): Node => {
    const { name, from, to } = cursor;
    // Lezer goes on behind what is no PromQL, and marks it.
    assert.ok(!cursor.type.isError, `${expression}: not PromQL at ${from}`);
    const children: Node[] = [];
    if (cursor.firstChild()) {
      do children.push(nodeAt(cursor));
      while (cursor.nextSibling());
      cursor.parent();
    }
    return { name, text: expression.slice(from, to), children };
  };
  return nodeAt(parser.parse(expression).cursor());
}

function* walk(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children) yield* walk(child);
}

const unquoted = (text: string): string => JSON.parse(`"${text.slice(1, -1)}"`) as string;

interface Matcher {
  readonly label: string;
  matches(value: string): boolean;
}

function matcherOf({ children }: Node): Matcher {
  const [label, operator, literal] = children.map(({ text }) => text) as [string, string, string];
  const wanted = unquoted(literal);
  const shape = new RegExp(`^(?:${wanted})$`, "s");
  const matches: Readonly<Record<string, (value: string) => boolean>> = {
    "=": (value) => value === wanted,
    "!=": (value) => value !== wanted,
    "=~": (value) => shape.test(value),
    "!~": (value) => !shape.test(value),
  };
  return { label, matches: matches[operator] ?? assert.fail(operator) };
}

/** What an expression asks for: names of metrics, and the labels that it names of each. Throws where it is not PromQL. */
export function namesIn(
  expression: string,
): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const tree = treeOf(expression);
  const grouped = [...walk(tree)].filter(({ name }) => name === "GroupingLabels");
  const groupedBy = grouped.flatMap((node) => [...walk(node)].filter(({ name }) => name === "LabelName"));
  return [...walk(tree)]
    .filter(({ name }) => name === "VectorSelector")
    .map((selector) => ({
      metric: selector.children[0]?.text ?? "",
      labels: [
        ...[...walk(selector)]
          .filter(({ name }) => name === "UnquotedLabelMatcher")
          .map((node) => matcherOf(node).label),
        ...groupedBy.map(({ text }) => text),
      ],
    }));
}

type Vector = readonly Sample[];
type Value = number | Vector;

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function secondsOf(duration: string): number {
  const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(duration) ?? assert.fail(duration);
  return Number(count) * (UNIT_SECONDS[unit] ?? assert.fail(unit));
}

const without = (labels: Readonly<Record<string, string>>, ...dropped: readonly string[]) =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !dropped.includes(name)));
const keyOf = (labels: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(labels).sort());

/** A series within a window, oldest first. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

/** Least squares, as Prometheus's predict_linear. */
function predicted({ points }: Series, at: number, ahead: number): number {
  const mean = (of: readonly number[]) => of.reduce((sum, value) => sum + value, 0) / of.length;
  const middle = mean(points.map((point) => point.at));
  const level = mean(points.map(({ value }) => value));
  const spread = points.reduce((sum, point) => sum + (point.at - middle) ** 2, 0);
  const slope =
    spread === 0
      ? 0
      : points.reduce((sum, point) => sum + (point.at - middle) * (point.value - level), 0) / spread;
  return level + slope * (at - middle + ahead);
}

/** A counter's growth: what is lower than before began anew. */
function growth({ points }: Series): number {
  let grown = 0;
  for (let at = 1; at < points.length; at += 1) {
    const [before, now] = [points[at - 1]?.value ?? 0, points[at]?.value ?? 0];
    grown += now >= before ? now - before : now;
  }
  return grown;
}

function quantile(share: number, buckets: readonly Sample[]): number {
  const bounds = buckets
    .map(({ labels, value }) => ({
      bound: labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]),
      value,
    }))
    .sort((one, other) => one.bound - other.bound);
  const rank = share * (bounds.at(-1)?.value ?? 0);
  const at = bounds.findIndex(({ value }) => value >= rank);
  const upper = bounds[at];
  const lower = bounds[at - 1] ?? { bound: 0, value: 0 };
  if (upper === undefined || (bounds.at(-1)?.value ?? 0) === 0) return Number.NaN;
  if (upper.bound === Number.POSITIVE_INFINITY) return lower.bound;
  return (
    lower.bound + ((upper.bound - lower.bound) * (rank - lower.value)) / (upper.value - lower.value || 1)
  );
}

const OPERATORS: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};
const COMPARISONS: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  "<": (left, right) => left < right,
  ">": (left, right) => left > right,
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
  ">=": (left, right) => left >= right,
  "<=": (left, right) => left <= right,
};
const SETS = new Set(["and", "or", "unless"]);

/**
 * Evaluates the PromQL that the alert rules use, at the last scrape. Increases and rates use the scrapes without
 * Prometheus's extrapolation. Throws for unsupported syntax.
 */
export class Evaluator {
  readonly #scrapes: readonly Scrape[];
  readonly #now: number;

  /** Oldest first. */
  constructor(scrapes: readonly Scrape[]) {
    this.#scrapes = scrapes;
    this.#now = scrapes.at(-1)?.at ?? assert.fail("nothing was scraped");
  }

  /** The series that an expression has. */
  evaluate(expression: string): Vector {
    const value = this.#value(treeOf(expression));
    return typeof value === "number" ? [{ labels: {}, value }] : value;
  }

  #value(node: Node): Value {
    const { name, text, children } = node;
    const [first] = children;
    switch (name) {
      case "PromQL":
      case "ParenExpr":
        return this.#value(first as Node);
      case "NumberDurationLiteral":
        return Number(text);
      case "VectorSelector":
        return this.#within(node, 300).flatMap(({ labels, points }) => {
          const last = points.at(-1);
          return last === undefined ? [] : [{ labels, value: last.value }];
        });
      case "FunctionCall":
        return this.#call(node);
      case "AggregateExpr":
        return this.#aggregate(node);
      case "BinaryExpr":
        return this.#binary(node);
      default:
        return assert.fail(`${name} is not known: ${text}`);
    }
  }

  #within(selector: Node, seconds: number): Series[] {
    const metric = selector.children[0]?.text;
    const matchers = [...walk(selector)].filter(({ name }) => name === "UnquotedLabelMatcher").map(matcherOf);
    const series = new Map<string, { labels: Series["labels"]; points: { at: number; value: number }[] }>();
    for (const { at, samples } of this.#scrapes.filter((scrape) => scrape.at > this.#now - seconds - 1)) {
      for (const { labels, value } of samples) {
        if (labels["__name__"] !== metric) continue;
        if (!matchers.every(({ label, matches }) => matches(labels[label] ?? ""))) continue;
        const known = series.get(keyOf(labels)) ?? { labels, points: [] };
        series.set(keyOf(labels), known);
        known.points.push({ at, value });
      }
    }
    return [...series.values()];
  }

  #windows(matrix: Node): { readonly seconds: number; readonly series: readonly Series[] } {
    assert.equal(matrix.name, "MatrixSelector", matrix.text);
    const [selector, duration] = matrix.children as [Node, Node];
    const seconds = secondsOf(duration.text);
    // One point says nothing of a change.
    return { seconds, series: this.#within(selector, seconds).filter(({ points }) => points.length > 1) };
  }

  #call({ children }: Node): Value {
    const called = children[0]?.text ?? "";
    const [one, other] = (children[1]?.children ?? []) as [Node, Node | undefined];
    const each = (matrix: Node, of: (series: Series, seconds: number) => number): Vector => {
      const { seconds, series } = this.#windows(matrix);
      return series.map((each) => ({ labels: without(each.labels, "__name__"), value: of(each, seconds) }));
    };
    switch (called) {
      case "rate":
        return each(one, (series, seconds) => growth(series) / seconds);
      case "increase":
        return each(one, growth);
      case "delta":
        return each(one, ({ points }) => (points.at(-1)?.value ?? 0) - (points[0]?.value ?? 0));
      case "min_over_time":
        return each(one, ({ points }) => Math.min(...points.map(({ value }) => value)));
      case "predict_linear": {
        const ahead = this.#value(other as Node) as number;
        return each(one, (series) => predicted(series, this.#now, ahead));
      }
      case "absent":
        return (this.#value(one) as Vector).length > 0 ? [] : [{ labels: {}, value: 1 }];
      case "vector":
        return [{ labels: {}, value: this.#value(one) as number }];
      case "histogram_quantile": {
        const share = this.#value(one) as number;
        const buckets = this.#value(other as Node) as Vector;
        const byLabels = Map.groupBy(buckets, ({ labels }) => keyOf(without(labels, "le", "__name__")));
        return [...byLabels.values()].map((of) => ({
          labels: without(of[0]?.labels ?? {}, "le", "__name__"),
          value: quantile(share, of),
        }));
      }
      default:
        return assert.fail(`the function ${called} is not known`);
    }
  }

  #aggregate({ children }: Node): Vector {
    const operation = children[0]?.text ?? "";
    const modifier = children.find(({ name }) => name === "AggregateModifier");
    assert.ok(modifier === undefined || modifier.text.startsWith("by"), modifier?.text);
    const by =
      modifier === undefined
        ? []
        : [...walk(modifier)].filter(({ name }) => name === "LabelName").map(({ text }) => text);
    const body = children.find(({ name }) => name === "FunctionCallBody")?.children ?? [];
    const of = this.#value(body.at(-1) as Node) as Vector;
    const groups = Map.groupBy(of, ({ labels }) =>
      keyOf(Object.fromEntries(by.flatMap((name) => (name in labels ? [[name, labels[name] ?? ""]] : [])))),
    );
    if (operation === "topk")
      return of.toSorted((one, other) => other.value - one.value).slice(0, Number(body[0]?.text));
    return [...groups].map(([labels, samples]) => {
      const values = samples.map(({ value }) => value);
      const sum = values.reduce((total, value) => total + value, 0);
      const results: Readonly<Record<string, number>> = {
        sum,
        max: Math.max(...values),
        min: Math.min(...values),
      };
      return {
        labels: Object.fromEntries(JSON.parse(labels) as [string, string][]),
        value: results[operation] ?? assert.fail(operation),
      };
    });
  }

  #binary({ children, text }: Node): Value {
    assert.equal(children.length, 3, `modifiers are not known: ${text}`);
    const [leftNode, operator, rightNode] = children as [Node, Node, Node];
    const left = this.#value(leftNode);
    const right = this.#value(rightNode);
    if (SETS.has(operator.text)) {
      const has = new Set((right as Vector).map(({ labels }) => keyOf(without(labels, "__name__"))));
      const isIn = ({ labels }: Sample) => has.has(keyOf(without(labels, "__name__")));
      if (operator.text === "and") return (left as Vector).filter(isIn);
      if (operator.text === "unless") return (left as Vector).filter((sample) => !isIn(sample));
      const lefts = new Set((left as Vector).map(({ labels }) => keyOf(without(labels, "__name__"))));
      return [
        ...(left as Vector),
        ...(right as Vector).filter(({ labels }) => !lefts.has(keyOf(without(labels, "__name__")))),
      ];
    }
    const calculate = OPERATORS[operator.text];
    const compare = COMPARISONS[operator.text];
    const combined = (sample: Sample, one: number, other: number): Sample[] => {
      if (compare !== undefined) return compare(one, other) ? [sample] : [];
      return [
        {
          labels: without(sample.labels, "__name__"),
          value: calculate?.(one, other) ?? assert.fail(operator.text),
        },
      ];
    };
    if (typeof left === "number" && typeof right === "number")
      return calculate?.(left, right) ?? assert.fail(text);
    if (typeof left === "number")
      return (right as Vector).flatMap((sample) => combined(sample, left, sample.value));
    if (typeof right === "number") return left.flatMap((sample) => combined(sample, sample.value, right));
    const others = new Map(right.map((sample) => [keyOf(without(sample.labels, "__name__")), sample]));
    return left.flatMap((sample) => {
      const other = others.get(keyOf(without(sample.labels, "__name__")));
      return other === undefined ? [] : combined(sample, sample.value, other.value);
    });
  }
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** A scrape in the Prometheus text format, with the labels that Prometheus adds for its target. */
export function readScrape(text: string, at: number, target: Readonly<Record<string, string>>): Scrape {
  const samples = text.split("\n").flatMap((line): Sample[] => {
    if (line === "" || line.startsWith("#")) return [];
    const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? assert.fail(`not a sample: ${line}`);
    const own = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, unquoted(`"${text}"`)]);
    return [{ labels: { ...Object.fromEntries(own), ...target, __name__: name }, value: Number(value) }];
  });
  return { at, samples: [...samples, { labels: { ...target, __name__: "up" }, value: 1 }] };
}
