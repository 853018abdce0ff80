import { spawn } from "node:child_process";
import pg from "pg";

/** A session that does to the database what a careless colleague does, until it is let go. */
export interface HeldSession {
  letGo(): Promise<void>;
}

async function open(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...config, application_name: "strain" });
  await client.connect();
  await client.query("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0");
  return client;
}

/** A transaction that took a snapshot and is left open: no row version that is newer may be cleaned away. */
export async function holdSnapshot(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  await client.query("begin transaction isolation level repeatable read");
  await client.query("select count(*) from bellhop_state.current_record");
  return { letGo: () => client.end() };
}

/** A transaction that has written something somewhere (so it has a number) and is left open. */
export async function holdIdleTransaction(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  await client.query("create temporary table held (number integer)");
  await client.query("begin");
  await client.query("insert into held values (1)");
  return { letGo: () => client.end() };
}

/** A question about everything, asked again and again in one transaction with one snapshot. */
export async function askForLong(config: pg.ClientConfig): Promise<HeldSession> {
  const client = await open(config);
  const stop = new AbortController();
  await client.query("begin transaction isolation level repeatable read");
  const asking = (async () => {
    while (!stop.signal.aborted) {
      await client.query("select count(*), sum(net_total_revenue) from analytics.stay_night");
      // A person looks at it for a while: what is measured is what the snapshot costs, not the processor that a query takes.
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

/** The control of the long question: a program that computes as long as it is let, and asks the database nothing. */
export async function computeBeside(): Promise<HeldSession> {
  const program = spawn(process.execPath, ["--eval", "for (;;);"], { stdio: "ignore" });
  return {
    letGo: async () => {
      program.kill("SIGKILL");
    },
  };
}

/** How the sessions of the bench reach the database that another one is on. */
export function configOf({ host, port, user, password, database }: pg.Client): pg.ClientConfig {
  return {
    host,
    port,
    ...(user === undefined ? {} : { user }),
    ...(typeof password === "string" ? { password } : {}),
    ...(database === undefined ? {} : { database }),
  };
}
