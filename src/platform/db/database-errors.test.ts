import assert from "node:assert/strict";
import { test } from "node:test";
import { isDatabaseOutage } from "./database-errors.ts";

const thrown = (fields: object, message = "x") => Object.assign(new Error(message), fields);

test("a database that cannot be reached is an outage: network, shutdown, resources, a session refused or ended", () => {
  for (const error of [
    thrown({ code: "ECONNREFUSED" }),
    thrown({ code: "57P01", severity: "FATAL" }),
    thrown({ code: "53300" }),
    thrown({ code: "08006" }),
    thrown({ code: "55000", severity: "FATAL" }, 'database "x" is not currently accepting connections'),
    thrown({ code: "3D000", severity: "FATAL" }),
    thrown({}, "Connection terminated unexpectedly"),
    thrown({}, "timeout exceeded when trying to connect"),
    thrown({}, "Query read timeout"),
  ]) {
    assert.equal(isDatabaseOutage(error), true, JSON.stringify(error));
  }
});

test("a statement that is wrong, or data that is refused, is none", () => {
  for (const error of [
    thrown({ code: "42P01", severity: "ERROR" }),
    thrown({ code: "22P02", severity: "ERROR" }),
    thrown({ code: "55000", severity: "ERROR" }),
    thrown({ code: "FST_ERR_X" }),
    thrown({}, "Connection"),
    "ECONNREFUSED",
    undefined,
  ]) {
    assert.equal(isDatabaseOutage(error), false, JSON.stringify(error));
  }
});
