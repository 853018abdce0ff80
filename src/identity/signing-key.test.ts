import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { importJWK } from "jose";
import { chooseSigningKey, SIGNING_ALGORITHM, type SigningKey } from "./signing-key.ts";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicJwk = pair.publicKey.export({ format: "jwk" });
const imported = await importJWK({ ...publicJwk, alg: SIGNING_ALGORITHM });
if (imported instanceof Uint8Array) throw new Error("no public key");
const publicKey = imported;

function key(
  kid: string,
  activateAtMs: number,
  privateKey: KeyObject | undefined = pair.privateKey,
): SigningKey {
  return { kid, publicJwk, publicKey, privateKey, activateAtMs, removeAtMs: null };
}

test("of the keys that are active the one activated last signs, whatever is announced", () => {
  const keys = [key("first", 1_000), key("second", 2_000), key("announced", 9_000)];
  assert.equal(chooseSigningKey(keys, 3_000)?.kid, "second");
});

test("with the clock set back before the first key, the earliest key signs", () => {
  const keys = [key("later", 2_000), key("first", 1_000)];
  assert.equal(chooseSigningKey(keys, 500)?.kid, "first");
  assert.equal(chooseSigningKey([{ ...key("wiped", 1_000), privateKey: undefined }], 500), undefined);
});
