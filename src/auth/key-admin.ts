import { readStatement } from "../db/statement.ts";
import { TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { type AuthAdmin, AuthInputError } from "./admin.ts";
import { changeAuth } from "./change.ts";
import { addSigningKey } from "./signing-key.ts";

const LIST_ALL = readStatement(new URL("./sql/list-all-keys.sql", import.meta.url));
const RETIRE_OTHERS = readStatement(new URL("./sql/retire-other-keys.sql", import.meta.url));
const WIPE_RETIRED_KEYS = readStatement(new URL("./sql/wipe-retired-private-keys.sql", import.meta.url));

/**
 * How long a new key is only published. Nodes know it within a second; others that verify our tokens keep the keys
 * they fetched for ten minutes (the default of jose), and must have fetched again before the first token under it.
 */
const KEY_ANNOUNCE_SECONDS = 900;

/** After a leak: just long enough for every node to have the new key before one signs with it. */
const LEAKED_ANNOUNCE_SECONDS = 5;

/** How long an old key's tokens are good after the new key took over: their whole life, and a minute. */
const KEY_RETIRE_SECONDS = TOKEN_SECONDS + TOKEN_LEEWAY_SECONDS + 60;

const ANNOUNCE_SECONDS_MAX = 30 * 86_400;

/** A signing key as its operator sees it. */
export interface KeySummary {
  readonly kid: string;
  readonly state: "announced" | "active" | "retiring" | "removed";
  readonly createdAt: Date;
  readonly activateAt: Date;
  readonly removeAt: Date | null;
  /** How the private part lies in the database. */
  readonly privatePart: "encrypted" | "readable" | "wiped";
}

export interface KeyRotation {
  readonly kid: string;
  /** When the new key begins to sign. */
  readonly activateAt: Date;
  /** Keys whose tokens are good until then and for the retire window after it. */
  readonly retiring: readonly string[];
}

/** Every key there ever was, the newest first. */
export async function listKeys({ internals }: AuthAdmin): Promise<KeySummary[]> {
  return (await internals.pool.query<KeySummary>(LIST_ALL)).rows;
}

/**
 * Replaces the signing key in three windows: announced (published, signs nothing), active, retiring (signs nothing,
 * its tokens are good). So no good token is refused anywhere. With `leaked`, the new key takes over after seconds and
 * every token under another one is refused from then on. Throws AuthInputError while another rotation is announced.
 */
export async function rotateKey(
  { internals, who }: AuthAdmin,
  options: { readonly announceSeconds?: number; readonly leaked?: boolean } = {},
): Promise<KeyRotation> {
  const leaked = options.leaked ?? false;
  const announceSeconds = leaked
    ? LEAKED_ANNOUNCE_SECONDS
    : (options.announceSeconds ?? KEY_ANNOUNCE_SECONDS);
  checkAnnounceSeconds(announceSeconds);
  const rotation = await changeAuth(internals.pool, async (change) => {
    const keys = await change.connection.query<KeySummary>(LIST_ALL);
    const announced = keys.rows.find((key) => key.state === "announced");
    if (announced !== undefined && !leaked) {
      throw new AuthInputError(
        `The key ${announced.kid} is announced already and becomes active at ${announced.activateAt.toISOString()}.`,
      );
    }
    await change.connection.query(WIPE_RETIRED_KEYS);
    const { kid, activateAt } = await addSigningKey(change, internals.sealer, announceSeconds);
    const values = [kid, leaked ? 0 : KEY_RETIRE_SECONDS];
    const retired = await change.connection.query<{ kid: string }>({ ...RETIRE_OTHERS, values });
    const retiring = retired.rows.map((row) => row.kid);
    await change.audit({ who, what: "rotate-key", detail: { kid, activateAt, retiring, leaked } });
    return { kid, activateAt, retiring };
  });
  await internals.directory.renew();
  return rotation;
}

/** A window shorter than the nodes' own could make one refuse a token that another just signed. */
function checkAnnounceSeconds(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= LEAKED_ANNOUNCE_SECONDS && seconds <= ANNOUNCE_SECONDS_MAX)
    return;
  throw new AuthInputError(`The announce window is ${LEAKED_ANNOUNCE_SECONDS} seconds to 30 days.`);
}
