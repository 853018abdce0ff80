import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import pg from "pg";
import { ConfigError } from "../config.ts";
import { failureText } from "./failure-text.ts";

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail("it did not fail"),
    (error: unknown) => error,
  );
}

function listen(port: number): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server));
  });
}

describe("the text of a failed start", () => {
  test("shows messages of OperatorError unchanged", () => {
    assert.equal(failureText(new ConfigError("PORT must be a number."), {}), "PORT must be a number.");
  });

  test("names PORT when something listens there already", async () => {
    const server = await listen(0);
    const { port } = server.address() as { port: number };
    const message = failureText(await rejectionOf(listen(port)), {});
    server.close();
    assert.match(message ?? "", new RegExp(`port ${port} of 127.0.0.1.*PORT`));
  });

  test("names DATABASE_URL when nothing answers there, and never shows its password", async () => {
    const environment = { DATABASE_URL: "postgresql://me:hunter2@127.0.0.1:1/x" };
    const error = await rejectionOf(new pg.Client({ connectionString: environment.DATABASE_URL }).connect());
    const message = failureText(error, environment) ?? "";
    assert.match(message, /DATABASE_URL cannot be reached \(ECONNREFUSED\)/);
    assert.doesNotMatch(message, /hunter2/);
  });

  test("distinguishes a host of DATABASE_URL from HOST when it cannot be resolved", () => {
    const error = Object.assign(new Error(), {
      code: "ENOTFOUND",
      syscall: "getaddrinfo",
      hostname: "a.invalid",
    });
    assert.match(failureText(error, { HOST: "a.invalid" }) ?? "", /^HOST names a\.invalid/);
    assert.match(failureText(error, { HOST: "127.0.0.1" }) ?? "", /^DATABASE_URL names a\.invalid/);
  });

  test("shows the database's own words when it refuses the user", () => {
    const error = Object.assign(new Error('password authentication failed for user "me"'), {
      code: "28P01",
      severity: "FATAL",
    });
    assert.match(failureText(error, {}) ?? "", /DATABASE_URL: password authentication failed/);
  });

  test("names the file that cannot be used, and why", async () => {
    const missing = await rejectionOf(readFile("/nowhere/list"));
    assert.equal(failureText(missing, {}), "/nowhere/list cannot be used: it does not exist (ENOENT).");
    const noDirectory = await rejectionOf(mkdir("/dev/null/data"));
    assert.match(failureText(noDirectory, {}) ?? "", /^\/dev\/null\/data cannot be used: .* \(ENOTDIR\)\.$/);
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      syscall: "write",
    });
    assert.equal(failureText(full, {}), "The disk is full (ENOSPC).");
  });

  test("says why there is no TLS connection to the database", () => {
    const environment = { DATABASE_URL: "postgresql://me@db.example/x?sslmode=verify-full" };
    const failed = (message: string, code?: string) =>
      failureText(Object.assign(new Error(message), code === undefined ? {} : { code }), environment);
    assert.equal(
      failed("The server does not support SSL connections"),
      "DATABASE_URL asks for TLS, which fails: The server does not support SSL connections.",
    );
    assert.equal(
      failed("certificate has expired", "CERT_HAS_EXPIRED"),
      "DATABASE_URL asks for TLS, which fails: certificate has expired.",
    );
    for (const code of ["DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"])
      assert.equal(
        failed(
          "unable to verify the first certificate; if the root CA is installed locally, try another",
          code,
        ),
        "DATABASE_URL asks for TLS, which fails: unable to verify the first certificate. Append &sslrootcert=FILE to it, the certificate of the authority that signed the server's.",
      );
    const refused = 'pg_hba.conf rejects connection for host "127.0.0.1", no encryption';
    assert.equal(
      failureText(Object.assign(new Error(refused), { severity: "FATAL", code: "28000" }), environment),
      `The database refuses DATABASE_URL: ${refused}. Append ?sslmode=verify-full to it.`,
    );
  });

  test("leaves a fault of ours to its stack", () => {
    assert.equal(failureText(new TypeError("x is not a function"), {}), undefined);
    assert.equal(failureText("text", {}), undefined);
  });

  test("names DATABASE_URL when what listens there cuts the connection", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resume) => server.listen(0, "127.0.0.1", resume));
    const { port } = server.address() as { port: number };
    const environment = { DATABASE_URL: `postgresql://u:s3cret@127.0.0.1:${port}/x` };
    const error = await rejectionOf(new pg.Client({ connectionString: environment.DATABASE_URL }).connect());
    server.close();
    const message = failureText(error, environment);
    assert.match(message ?? "", /^The database of DATABASE_URL did not answer[^\n]*$/);
    assert.doesNotMatch(message ?? "", /s3cret/);
  });
});
