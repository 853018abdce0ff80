import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { digitsOf } from "#contract/currencies.ts";
import { dividedBy, plus, withDigits } from "./exact-amount.ts";

test("amounts have the digits of their currency, and more only where they say something", () => {
  for (const [text, digits, expected] of [
    ["75.5", 2, "75.50"],
    ["75", 2, "75.00"],
    ["75.125000", 2, "75.125"],
    ["-0.50", 0, "-0.5"],
    ["0.000", 0, "0"],
    ["100", 0, "100"],
  ] as const)
    assert.equal(withDigits(text, digits), expected);
  assert.deepEqual(["EUR", "JPY", "KWD", "constructor", null].map(digitsOf), [2, 0, 3, 2, 2]);
});

test("halves are rounded away from zero, whatever binary floating point would make of them", () => {
  for (const [text, by, digits, expected] of [
    ["1.005", 1, 2, "1.01"],
    ["-1.005", 1, 2, "-1.01"],
    ["100.01", 2, 2, "50.01"],
    ["1", 3, 4, "0.3333"],
    ["2", 3, 4, "0.6667"],
    ["5", 2, 0, "3"],
    ["0", 7, 2, "0.00"],
    ["99999999999999999999.99", 1, 2, "99999999999999999999.99"],
  ] as const)
    assert.equal(dividedBy(text, by, digits), expected, `${text} by ${by}`);
});

test("sums are exact, and unreported amounts add nothing", () => {
  const cents = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  const text = (units: bigint) => {
    const digits = String(units < 0n ? -units : units).padStart(3, "0");
    return `${units < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
  };
  fc.assert(
    fc.property(cents, cents, (left, right) => {
      assert.equal(plus(text(left), text(right)), text(left + right));
      assert.equal(withDigits(`${plus(text(left), null)}0`, 2), text(left));
    }),
  );
  assert.equal(plus(null, null), null);
  assert.equal(plus("1.5", "1"), "2.5");
});

test("rates are exact below and above a double's precision", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }),
      fc.bigInt({ min: 1n, max: 100_000n }),
      fc.integer({ min: 0, max: 4 }),
      (cents, by, digits) => {
        const size = String(cents < 0n ? -cents : cents).padStart(3, "0");
        const text = `${cents < 0n ? "-" : ""}${size.slice(0, -2)}.${size.slice(-2)}`;
        const rate = dividedBy(text, Number(by), digits);
        const expected = BigInt(rate.replace(".", ""));
        // Not further from the quotient than half of the last digit, and on a half the one away from zero.
        const twiceOff = 2n * (expected * by * 100n - cents * 10n ** BigInt(digits));
        const half = by * 100n;
        const isOutward = cents < 0n ? -twiceOff : twiceOff;
        assert.ok(isOutward > -half && isOutward <= half, `${text} by ${by} is ${rate}`);
        assert.equal(rate.split(".")[1]?.length ?? 0, digits);
      },
    ),
    { numRuns: 2_000 },
  );
});
