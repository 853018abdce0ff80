import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  decimalText,
  ExactNumber,
  integerValue,
  isBeyondDouble,
  isDecimal,
  isInteger,
  plainDecimal,
} from "./decimal.ts";
import { moneyOf, sumOf } from "./money.ts";

/** A literal as a fraction of two BigInts: the oracle. */
function exact(literal: string): { units: bigint; scale: bigint } {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    literal,
  )!;
  const shift = BigInt(exponent!) - BigInt(fraction!.length);
  const units = BigInt(sign! + whole! + fraction!);
  return shift >= 0n ? { units: units * 10n ** shift, scale: 0n } : { units, scale: -shift };
}
const same = (a: string, b: string) => {
  const [x, y] = [exact(a), exact(b)];
  return x.units * 10n ** y.scale === y.units * 10n ** x.scale;
};

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: max });
const jsonNumber = fc
  .tuple(
    fc.constantFrom("", "-"),
    digits(12),
    fc.option(digits(24), { nil: undefined }),
    fc.option(fc.integer({ min: -40, max: 40 }), { nil: undefined }),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const head = whole.replace(/^0+(?=\d)/, "");
    return `${sign}${head}${fraction === undefined ? "" : `.${fraction}`}${exponent === undefined ? "" : `e${exponent}`}`;
  });

test("a decimal in plain notation equals the literal to the last digit", () => {
  fc.assert(
    fc.property(jsonNumber, (literal) => {
      const plain = plainDecimal(literal);
      if (plain === undefined) return;
      assert.match(plain, /^-?\d+(\.\d+)?$/);
      assert.ok(plain.replace(/[-.]/g, "").replace(/^0+/, "").length <= 38);
      assert.ok(same(plain, literal), `${literal} became ${plain}`);
    }),
    { numRuns: 3000 },
  );
});

test("a plain number of short literals gives back the same value, also where JavaScript would write an exponent", () => {
  assert.equal(decimalText(0.0000001), "0.0000001");
  assert.equal(decimalText(-0), "0");
  assert.equal(decimalText(24.5), "24.5");
  fc.assert(
    fc.property(
      jsonNumber.filter((literal) => literal.length <= 15 && !literal.includes("e")),
      (literal) => {
        assert.ok(same(decimalText(JSON.parse(literal)), literal), literal);
      },
    ),
  );
});

test("an exponent that would not fit is refused without being written out", () => {
  assert.equal(plainDecimal("1e999999999"), undefined);
  assert.equal(plainDecimal("1e-999999999999999999999"), undefined);
  assert.equal(plainDecimal("0e999999999"), "0");
  assert.equal(plainDecimal("1e37"), `1${"0".repeat(37)}`);
  assert.equal(plainDecimal("1e38"), undefined);
  assert.equal(plainDecimal("1e-38"), `0.${"0".repeat(37)}1`);
  assert.equal(plainDecimal("1.50"), "1.5");
});

test("a literal is beyond doubles exactly when one would be infinite, or zero, for it", () => {
  for (const unsafe of ["1e400", "-1e400", "1e-400", "1.8e308", "0.1e-400", `1${"0".repeat(400)}`]) {
    assert.ok(isBeyondDouble(unsafe), unsafe);
  }
  for (const safe of [
    "0",
    "-0",
    "0e400",
    "0.000e-400",
    "9007199254740993",
    "9007199254740992.5",
    "9223372036854775807",
    "1.7976931348623157E308",
    "4.9e-324",
    "1e16",
    "1E5",
    "0.1234567890123456789",
    "1.0000000000000000000000001",
    "1e22",
    "1e23",
    "-123.456E+78",
    "1e308",
    "9007199254740992.000",
  ]) {
    assert.ok(!isBeyondDouble(safe), safe);
  }
});

test("a hostile literal of a million digits is judged at once", () => {
  const digitsOf = (count: number) => "7".repeat(count);
  const started = process.cpuUsage();
  for (const literal of [
    digitsOf(1e6),
    `0.${digitsOf(1e6)}`,
    `9007199254740993.${digitsOf(1e6)}`,
    `0.${"0".repeat(1e6)}1`,
    `${digitsOf(1e6)}e-1000000`,
  ]) {
    isBeyondDouble(literal);
    integerValue(new ExactNumber(literal));
    plainDecimal(literal);
    isDecimal(literal);
  }
  assert.ok(process.cpuUsage(started).user < 2e6);
});

test("whole numbers are numbers or texts of digits", () => {
  for (const [value, expected] of [
    [2, 2],
    ["2", 2],
    [1.0, 1],
    ["1.0", 1],
    ["1.000", 1],
    ["-3", -3],
    ["007", 7],
    ["2147483647", 2147483647],
    ["-0", 0],
    [-0, 0],
  ] as const) {
    assert.equal(integerValue(value), expected, String(value));
    assert.ok(Object.is(integerValue(value), expected) && isInteger(value), String(value));
  }
  for (const value of [
    1.5,
    "1.5",
    "",
    "abc",
    "1e5",
    "+1",
    " 1",
    "1 ",
    "NaN",
    "Infinity",
    "0x10",
    "1.",
    ".5",
    "-",
    "--1",
    "1.0.0",
    "1,000",
    "٣",
    true,
    null,
    undefined,
    {},
    [],
  ]) {
    assert.equal(integerValue(value), undefined, String(value));
    assert.ok(!isInteger(value));
  }
  for (const value of [
    2147483648,
    -2147483649,
    "2147483648",
    "99999999999999999999",
    new ExactNumber("1e10"),
  ])
    assert.ok(!isInteger(value));
  assert.ok(isInteger(new ExactNumber("1e5")) && isInteger(new ExactNumber("1.0000000000000000")));
  assert.ok(!isInteger(new ExactNumber("1.0000000000000001")));
});

test("a decimal text has at most 38 digits, leading zeros aside, and 64 characters", () => {
  for (const text of [
    "0",
    "-0",
    "12.50",
    "-5",
    "007.5",
    "9".repeat(38),
    `0.${"1".repeat(38)}`,
    `${"0".repeat(20)}.5`,
  ])
    assert.ok(isDecimal(text), text);
  for (const text of [
    "9".repeat(39),
    `1.${"0".repeat(38)}`,
    "0".repeat(65),
    "",
    ".5",
    "5.",
    "1e5",
    "+5",
    "NaN",
    "1,5",
    "-",
    "1 ",
  ])
    assert.ok(!isDecimal(text), text);
  assert.ok(
    !isDecimal(new ExactNumber(`0.${"1".repeat(39)}`)) && isDecimal(new ExactNumber("0.1234567890123456789")),
  );
});

test("sums are exact, whatever the digits", () => {
  const sumOfTexts = (texts: readonly string[]) =>
    texts.map(moneyOf).reduce((sum, one) => sumOf(sum, one) ?? 0);
  const decimal = fc
    .oneof(
      jsonNumber,
      fc.integer({ min: -1e9, max: 1e9 }).map((cents) => (cents / 100).toFixed(2)),
    )
    .map(plainDecimal)
    .filter((text) => text !== undefined);
  fc.assert(
    fc.property(
      fc.array(decimal, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: -1, max: 1 }),
      (texts, off) => {
        const scale = 40n;
        let units =
          texts.map(exact).reduce((sum, one) => sum + one.units * 10n ** (scale - one.scale), 0n) +
          BigInt(off);
        const sign = units < 0n ? "-" : "";
        if (units < 0n) units = -units;
        const whole = String(units).padStart(41, "0");
        const total = `${sign}${whole.slice(0, -40)}.${whole.slice(-40)}`;
        const sum = sumOfTexts(texts);
        assert.equal(sum === moneyOf(total), off === 0);
        if (off === 0) assert.equal(sum, moneyOf(total.replace(/\.?0+$/, "").replace(/^-0?$/, "0") || "0"));
      },
    ),
    { numRuns: 1000 },
  );
  assert.equal(sumOfTexts(["0.1", "0.2"]), moneyOf("0.30"));
  const large = sumOfTexts(new Array(5).fill(["900000000000", "0.0001"]).flat());
  assert.equal(large, moneyOf("4500000000000.0005"));
  assert.notEqual(large, moneyOf("4500000000000.0004"));
});
