import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cookieOf, endedCookieOf, readCookie, sessionCookieOf } from "./cookie.ts";

describe("the session's cookie", () => {
  test("is bound to the host behind TLS", () => {
    const cookie = sessionCookieOf("https://hotels.example");
    assert.ok(cookie);
    assert.equal(
      cookieOf(cookie, "abc"),
      "__Host-bellhop-console=abc; Path=/; Secure; HttpOnly; SameSite=Strict",
    );
    assert.match(endedCookieOf(cookie), /^__Host-bellhop-console=; .*Max-Age=0$/);
  });

  test("is plain on a loopback address alone, another for each port", () => {
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const cookie = sessionCookieOf(`http://${host}:8080`);
      assert.ok(cookie, host);
      assert.equal(
        cookieOf(cookie, "abc"),
        "bellhop-console-8080=abc; Path=/console; HttpOnly; SameSite=Strict",
      );
    }
    for (const address of ["http://10.0.0.7:8080", "http://hotels.example", "http://127.0.0.1.example"])
      assert.equal(sessionCookieOf(address), undefined, address);
  });

  test("is read by its whole name, and is none where there are two", () => {
    assert.equal(readCookie("a=1; bellhop-console-8080=x; b=2", "bellhop-console-8080"), "x");
    assert.equal(readCookie("xbellhop-console-8080=x", "bellhop-console-8080"), undefined);
    assert.equal(readCookie("n=x; n=y", "n"), undefined);
    assert.equal(readCookie(undefined, "n"), undefined);
  });
});
