import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Secret, TOTP } from "otpauth";
import type { SessionAnswer, TotpAnswer, TotpConfirmedAnswer } from "../../src/console/session-answers.ts";
import { type ConsoleSession, logIn, logInAsNew, PASSWORD, postLogin } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService({ keyEncryptionKey: Buffer.alloc(32, 7).toString("base64") });
});
after(() => service.stop());

/** The code of an authenticator app, so many steps from now. */
const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

async function enrol(session: ConsoleSession): Promise<TotpAnswer & TotpConfirmedAnswer> {
  const begun = await session.change<TotpAnswer>("totp/begin", { current: PASSWORD });
  const confirmed = await session.change<TotpConfirmedAnswer>("totp/confirm", {
    code: codeOf(begun.secret, -1),
  });
  return { ...begun, ...confirmed };
}

const attempt = async (name: string, code?: string) => {
  const { status, json } = await postLogin(service, { name, password: PASSWORD, ...(code && { code }) });
  return status === 200 ? "in" : `${status} ${String(json()["exception"]).replace("bellhop.console.", "")}`;
};

test("an operator turns codes on with the password and a code of the app; the secret lies encrypted", async () => {
  const session = await logInAsNew(service, "anna");
  const wrong = await session.post("totp/begin", { current: "not the password" });
  assert.equal(wrong.status, 401);
  const { secret, uri } = await session.change<TotpAnswer>("totp/begin", { current: PASSWORD });
  assert.match(uri, /^otpauth:\/\/totp\/Bellhop:anna\?.*secret=[A-Z2-7]{32}/);
  assert.equal(
    await attempt("anna"),
    "in",
    "nothing is asked for until a code has shown that the app has it",
  );
  assert.equal((await session.post("totp/confirm", { code: "000000" })).status, 422);
  const { recoveryCodes } = await session.change<TotpConfirmedAnswer>("totp/confirm", {
    code: codeOf(secret),
  });
  assert.equal(new Set(recoveryCodes).size, 10);
  assert.equal((await session.post("totp/begin", { current: PASSWORD })).status, 422);
  const { operator } = await session.read<SessionAnswer>("session");
  assert.equal(operator?.hasTotp, true);
  const { rows } = await service.pool.query(
    "select encrypted_totp_secret from bellhop.operator where name = 'anna'",
  );
  assert.match(rows[0].encrypted_totp_secret, /^aes256gcm:/);
});

test("a login requires the password and then a code, valid once; so is a recovery code", async () => {
  const session = await logInAsNew(service, "berta");
  const { secret, recoveryCodes } = await enrol(session);
  assert.equal(await attempt("berta"), "401 CodeNeeded");
  assert.equal(await attempt("berta", codeOf(secret, -1)), "401 CodeWrong", "it was used to turn codes on");
  const code = codeOf(secret);
  assert.equal(await attempt("berta", code), "in");
  assert.equal(await attempt("berta", code), "401 CodeWrong");
  assert.equal(await attempt("berta", codeOf(secret, -20)), "401 CodeWrong");
  const [recovery = ""] = recoveryCodes;
  assert.equal(await attempt("berta", recovery.toUpperCase()), "in");
  assert.equal(await attempt("berta", recovery), "401 CodeWrong");
  const { status } = await postLogin(service, { name: "berta", password: "a wrong password", code });
  assert.equal(status, 401, "a code is looked at behind the right password alone");
});

test("of two logins with one code at once one is let in", async () => {
  const { secret } = await enrol(await logInAsNew(service, "carla"));
  const code = codeOf(secret);
  const results = await Promise.all([attempt("carla", code), attempt("carla", code), attempt("carla", code)]);
  assert.deepEqual(results.sort(), ["401 CodeWrong", "401 CodeWrong", "in"]);
});

test("after five wrong codes for a name all codes are refused, from any address, including the right one", async () => {
  const { secret } = await enrol(await logInAsNew(service, "dora"));
  for (let tries = 0; tries < 5; tries += 1) assert.equal(await attempt("dora", "000000"), "401 CodeWrong");
  assert.equal(await attempt("dora", codeOf(secret)), "429 TooManyAttempts");
});

test("codes are turned off with a code, or by an admin; then the password is enough", async () => {
  const session = await logInAsNew(service, "emma");
  const { recoveryCodes } = await enrol(session);
  assert.equal((await session.post("totp/disable", { code: "000000" })).status, 401);
  await session.change("totp/disable", { code: recoveryCodes[0] });
  assert.equal(await attempt("emma"), "in");
  await enrol(session);
  assert.equal(await attempt("emma"), "401 CodeNeeded");
  const admin = await logInAsNew(service, "admin");
  await admin.change("operators/emma/reset-totp");
  assert.equal(await attempt("emma"), "in");
  const { rows } = await service.pool.query("select who from bellhop.audit_entry where what = 'reset-totp'");
  assert.deepEqual(
    rows.map(({ who }) => who),
    ["console:emma", "console:admin"],
  );
});

test("turning codes on or off ends the other sessions; an admin's reset ends every one", async () => {
  const session = await logInAsNew(service, "fiona");
  const statuses = async (...sessions: ConsoleSession[]) =>
    await Promise.all(sessions.map(async (each) => (await each.get("portfolio")).status));
  const stolen = await logIn(service, "fiona");
  const { recoveryCodes } = await enrol(session);
  assert.deepEqual(await statuses(session, stolen), [200, 401]);
  const [first, second] = recoveryCodes;
  assert.equal(await attempt("fiona", first), "in");
  await session.change("totp/disable", { code: second });
  const { rows } = await service.pool.query(
    "select from bellhop.operator_session where operator_name = 'fiona'",
  );
  assert.equal(rows.length, 1);
  const admin = await logInAsNew(service, "resetting");
  await admin.change("operators/fiona/reset-totp");
  assert.deepEqual(await statuses(session, admin), [401, 200]);
});
