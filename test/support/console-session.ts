import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import type { OperatorRights } from "../../src/identity/roles.ts";
import type { Answer, TestService } from "./service.ts";

export const PASSWORD = "correct horse battery";

/** What a browser that is logged in to the console sends with each request. */
export interface ConsoleSession {
  readonly cookie: string;
  readonly csrfToken: string;
  get(path: string): Promise<Answer>;
  /** Asks for what has to be there, and answers it read. */
  read<Value>(path: string): Promise<Value>;
  post(path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Posts what has to be taken, and answers what came back. */
  change<Value>(path: string, body?: object): Promise<Value>;
}

/** Posts name and password as the login page does. */
export function postLogin(
  service: TestService,
  login: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return service.send("POST", "/console/api/login", { as: null, body: login, headers });
}

/** The cookie that an answer sets, as a browser sends it back. */
export function cookieSetBy(answer: Answer): string {
  return (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

export const ADMIN: OperatorRights = { role: "admin", grants: ["*/*"] };

/** PASSWORD at scrypt's least cost: the true one is 0.2 s of CPU for each operator and each login. */
const CHEAP_HASH = `scrypt$4$8$1$AAAA$${scryptSync(PASSWORD, Buffer.alloc(3), 32, { N: 2 ** 4 }).toString("base64url")}`;

/** An operator with the password of these tests, by default an admin of everything. */
export async function addOperator(
  { pool }: TestService,
  name: string,
  { role, grants }: OperatorRights = ADMIN,
): Promise<void> {
  await pool.query(
    "insert into bellhop.operator (name, password_hash, role, grants) values ($1, $2, $3, $4)",
    [name, CHEAP_HASH, role, grants],
  );
}

/** Adds an operator and logs in. */
export async function logInAsNew(
  service: TestService,
  name: string,
  rights?: OperatorRights,
): Promise<ConsoleSession> {
  await addOperator(service, name, rights);
  return await logIn(service, name);
}

/** Logs in with the password of these tests. */
export async function logIn(service: TestService, name: string): Promise<ConsoleSession> {
  const answer = await postLogin(service, { name, password: PASSWORD });
  assert.equal(answer.status, 200, answer.text);
  const cookie = cookieSetBy(answer);
  const csrfToken = String(answer.json()["csrfToken"]);
  const get = (path: string) => service.get(`/console/api/${path}`, { as: null, headers: { cookie } });
  const post = (path: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    service.send("POST", `/console/api/${path}`, {
      as: null,
      body,
      headers: { cookie, "x-bellhop-csrf": csrfToken, ...headers },
    });
  return {
    cookie,
    csrfToken,
    get,
    post,
    read: async <Value>(path: string) => answered<Value>(await get(path)),
    change: async <Value>(path: string, body?: object) => answered<Value>(await post(path, body)),
  };
}

function answered<Value>(answer: Answer): Value {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  return answer.json() as Value;
}
