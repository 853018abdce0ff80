import { spawn } from "node:child_process";
import pg from "pg";

/** A session that burdens the database until it is released. */
export interface HeldSession {
  letGo(): Promise<void>;
}

async function open(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...config, application_name: "strain" });
  await client.connect();
  await client.query("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0");
  return client;
}

/** An open transaction with a snapshot, which keeps newer dead rows from being vacuumed. */
export async function holdSnapshot(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  await client.query("begin transaction isolation level repeatable read");
  await client.query("select count(*) from bellhop_state.current_record");
  return { letGo: () => client.end() };
}

/** An open transaction that has written something, so it has a transaction id. */
export async function holdIdleTransaction(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  await client.query("create temporary table held (number integer)");
  await client.query("begin");
  await client.query("insert into held values (1)");
  return { letGo: () => client.end() };
}

/** A query over everything, repeated in one transaction with one snapshot. */
export async function askForLong(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  const stop = new AbortController();
  await client.query("begin transaction isolation level repeatable read");
  const asking = (async () => {
    while (!stop.signal.aborted) {
      await client.query("select count(*), sum(net_total_revenue) from analytics.stay_night");
      // Pauses, so that the measurement shows the snapshot's cost, not the query's CPU time.
      await client.query("select pg_sleep(1)");
    }
  })();
  return {
    letGo: async () => {
      stop.abort();
      await asking.catch(() => undefined);
      await client.end();
    },
  };
}

/** The control: a program that only computes. */
export async function computeBeside(): Promise<HeldSession> {
  const program = spawn(process.execPath, ["--eval", "for (;;);"], { stdio: "ignore" });
  return {
    letGo: async () => {
      program.kill("SIGKILL");
    },
  };
}

/** The connection settings of a session's database. */
export function configOf({ host, port, user, password, database }: pg.Client): pg.ClientConfig {
  return {
    host,
    port,
    ...(user === undefined ? {} : { user }),
    ...(typeof password === "string" ? { password } : {}),
    ...(database === undefined ? {} : { database }),
  };
}
