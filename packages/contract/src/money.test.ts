import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { moneyOf, sumOf, tenThousandthsAt, textOfMoney, timesWhole } from "./money.ts";

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: min, maxLength: max });
const decimals = fc
  .tuple(fc.constantFrom("", "-"), digits(1, 22), digits(0, 16))
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`);

const SCALE = 16;

/** In units of 10^-16. */
function unitsOf(text: string): bigint {
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const units = BigInt(whole + fraction.padEnd(SCALE, "0"));
  return text.startsWith("-") ? -units : units;
}

test("amounts are exact, however large or fine, and equal ones are the same", () => {
  fc.assert(
    fc.property(decimals, decimals, fc.integer(), (left, right, factor) => {
      const [one, other] = [moneyOf(left), moneyOf(right)];
      const sum = sumOf(one, other) ?? 0;
      assert.equal(unitsOf(textOfMoney(sum)), unitsOf(left) + unitsOf(right));
      const product = timesWhole(one, factor) ?? 0;
      assert.equal(unitsOf(textOfMoney(product)), unitsOf(left) * BigInt(factor));
      assert.equal(sumOf(sum, timesWhole(other, -1)), one);
      assert.ok(!Object.is(product, -0));
      const bytes = Buffer.from(left);
      const units = tenThousandthsAt(bytes, 0, bytes.length);
      assert.equal(Number.isNaN(units) ? one : units, one);
    }),
    { numRuns: 2_000 },
  );
});

test("an unreported value is not an amount", () => {
  assert.equal(sumOf(null, null), null);
  assert.equal(sumOf(null, moneyOf("0.10")), 1_000);
  assert.equal(timesWhole(null, 2), null);
  assert.equal(moneyOf("-0.00"), 0);
  assert.equal(moneyOf("80.00"), moneyOf("080"));
});
