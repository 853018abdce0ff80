import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { writeCount, writeMany, writeMoney, writeShare, writeShort, writeSigned } from "./format.ts";
import { addMoney, subtractMoney } from "./money.ts";

describe("figures in the console", () => {
  test("money stays the decimal text that it was, however large", () => {
    assert.equal(writeMoney("12345678901234567890.1"), "12,345,678,901,234,567,890.10");
    assert.equal(writeMoney("0.125"), "0.125");
    assert.equal(writeMoney("-1234.5"), "−1,234.50");
    assert.equal(writeMoney("210.0000"), "210.00");
    assert.equal(writeMoney("7", true), "+7.00");
    assert.equal(writeMoney("0.00", true), "0.00");
    assert.equal(writeMoney("n/a"), "n/a");
  });

  test("money is added and subtracted exactly, with the places of the longer text", () => {
    assert.equal(addMoney(["0.1", "0.2"]), "0.3");
    assert.equal(addMoney(["90071992547409.93", "0.005"]), "90071992547409.935");
    assert.equal(addMoney(["12", "-12.50"]), "-0.50");
    assert.equal(addMoney([]), "0");
    assert.equal(subtractMoney("3", "5.25"), "-2.25");
    assert.equal(subtractMoney("-0.5", "-0.75"), "0.25");
  });

  test("money is shortened to what fits a cell", () => {
    assert.equal(writeShort("845.50"), "846");
    assert.match(writeShort("-1234.5"), /^−1\.2K$/i);
    assert.match(writeShort("12345678901.23"), /^12B|12bn$/i);
  });

  test("counts, signs, shares and words of number", () => {
    assert.equal(writeCount(-12345), "−12,345");
    assert.equal(writeSigned(3), "+3");
    assert.equal(writeSigned(0), "0");
    assert.equal(writeShare("0.8533"), "85.3 %");
    assert.equal(writeMany(1, "property", "properties"), "1 property");
    assert.equal(writeMany(1200, "night"), "1,200 nights");
  });
});
