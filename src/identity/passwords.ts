import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { demand, isWhole } from "./admin.ts";

/**
 * OWASP's second choice for scrypt: 32 MiB and about 0.2 s of a pool thread per password, so that concurrent guesses do not exhaust the
 * memory that batches need. Stored with each hash, so the cost can be raised later.
 */
const COST = { logN: 15, blockSize: 8, parallelism: 3 } as const;

const SALT_BYTES = 16;
const KEY_BYTES = 32;
const PASSWORD_CHARACTERS_MIN = 12;
const PASSWORD_CHARACTERS_MAX = 256;

interface StoredPassword {
  readonly logN: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** A generated password: 144 random bits. */
export function newPassword(): string {
  return randomBytes(18).toString("base64url");
}

/** Throws AuthInputError for a password that is too easy to guess or malformed. */
export function checkNewPassword(password: string, name: string): void {
  const [least, most] = [PASSWORD_CHARACTERS_MIN, PASSWORD_CHARACTERS_MAX];
  demand(isWhole([...password].length, least, most), `A password must have ${least} to ${most} characters.`);
  const isPlain = password.isWellFormed() && !/\p{Cc}/u.test(password);
  demand(isPlain, "A password must not have control characters.");
  const isVaried = !password.toLowerCase().includes(name) && new Set(password).size >= 5;
  demand(isVaried, "A password must not consist of the name or of a few repeated characters.");
}

/** Whether the text has the form of a password, so that hashing it is worthwhile. */
export function looksLikePassword(text: string): boolean {
  return text !== "" && text.length <= 2 * PASSWORD_CHARACTERS_MAX && text.isWellFormed();
}

/** The salted hash of a password as stored: `scrypt$15$8$3$<salt>$<key>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, { ...COST, salt, key: Buffer.alloc(KEY_BYTES) });
  const { logN, blockSize, parallelism } = COST;
  return ["scrypt", logN, blockSize, parallelism, salt.toString("base64url"), key.toString("base64url")].join(
    "$",
  );
}

/** Compared with if the operator does not exist: the same work, never a match. */
const NOBODY: StoredPassword = { ...COST, salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };

/** Whether the password matches the stored hash. Undefined (no such operator) takes the same time and is false. */
export async function matchesPassword(password: string, stored: string | undefined): Promise<boolean> {
  const against = stored === undefined ? NOBODY : readStored(stored);
  const key = await derive(password, against);
  return timingSafeEqual(key, against.key) && stored !== undefined;
}

function readStored(stored: string): StoredPassword {
  const [kind, logN, blockSize, parallelism, salt = "", key = ""] = stored.split("$");
  if (kind !== "scrypt") throw new Error("Unknown format of a stored password.");
  return {
    logN: Number(logN),
    blockSize: Number(blockSize),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64url"),
    key: Buffer.from(key, "base64url"),
  };
}

/** Keyboards may compose the same letters differently; NFC normalizes them. */
function derive(
  password: string,
  { logN, blockSize, parallelism, salt, key }: StoredPassword,
): Promise<Buffer> {
  const options: ScryptOptions = {
    N: 2 ** logN,
    r: blockSize,
    p: parallelism,
    maxmem: 256 * 2 ** logN * blockSize,
  };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, key.length, options, (error, derived) =>
      error === null ? resolve(derived) : reject(error),
    );
  });
}
