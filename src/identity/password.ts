import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { AuthInputError } from "./admin.ts";

/**
 * OWASP's second choice for scrypt: 32 MiB and about 0.2 s of a thread of the pool for each password, so that a hundred
 * guesses at once do not take the memory that batches need. Stored with each hash, so they can be raised later.
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

/** A password nobody can guess, for an operator who brings none: 144 random bits. */
export function newPassword(): string {
  return randomBytes(18).toString("base64url");
}

/** Throws AuthInputError for a password that is too easy to guess or cannot be one. */
export function checkPassword(password: string, name: string): void {
  const characters = [...password].length;
  if (characters < PASSWORD_CHARACTERS_MIN || characters > PASSWORD_CHARACTERS_MAX) {
    throw new AuthInputError(
      `A password has ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters.`,
    );
  }
  if (!password.isWellFormed() || /\p{Cc}/u.test(password))
    throw new AuthInputError("A password has no control characters.");
  if (password.toLowerCase().includes(name) || new Set(password).size < 5)
    throw new AuthInputError("A password is not made of the name, nor of a few characters over and over.");
}

/** True for text that could be a password at all; anything else is not worth the work of a hash. */
export function looksLikePassword(text: string): boolean {
  return text !== "" && text.length <= 2 * PASSWORD_CHARACTERS_MAX && text.isWellFormed();
}

/** The hash of a password, with a salt of its own, as it is stored: `scrypt$15$8$3$<salt>$<key>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, { ...COST, salt, key: Buffer.alloc(KEY_BYTES) });
  const { logN, blockSize, parallelism } = COST;
  return ["scrypt", logN, blockSize, parallelism, salt.toString("base64url"), key.toString("base64url")].join(
    "$",
  );
}

/** What a password is compared with where there is no operator of the name: as much work, and never right. */
const NOBODY: StoredPassword = { ...COST, salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };

/** Whether the password is the one of the stored hash; undefined (no such operator) takes as long and is false. */
export async function matchesPassword(password: string, stored: string | undefined): Promise<boolean> {
  const against = stored === undefined ? NOBODY : readStored(stored);
  const key = await derive(password, against);
  return timingSafeEqual(key, against.key) && stored !== undefined;
}

function readStored(stored: string): StoredPassword {
  const [kind, logN, blockSize, parallelism, salt = "", key = ""] = stored.split("$");
  if (kind !== "scrypt") throw new Error("A stored password is of no kind that this version knows.");
  return {
    logN: Number(logN),
    blockSize: Number(blockSize),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64url"),
    key: Buffer.from(key, "base64url"),
  };
}

/** Typed on one machine and on another the same letters may come composed or not: NFC makes them one. */
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
