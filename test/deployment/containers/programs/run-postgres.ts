/**
 * In the stand-in for PostgreSQL's image: creates the cluster in an empty volume with the password of POSTGRES_PASSWORD_FILE, runs the
 * scripts of /docker-entrypoint-initdb.d, and then the server with the given arguments.
 */
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";

const BIN = "/opt/postgres/bin";
const DATA = "/var/lib/postgresql/18/docker";
const SCRIPTS = "/docker-entrypoint-initdb.d";
const POSTGRES = 999;
const as = { uid: POSTGRES, gid: POSTGRES, stdio: "inherit" } as const;

mkdirSync("/var/run/postgresql", { recursive: true });
chownSync("/var/run/postgresql", POSTGRES, POSTGRES);
if (!existsSync(`${DATA}/PG_VERSION`)) initialise();
const [, ...args] = process.argv.slice(2);
const server = spawn(
  `${BIN}/postgres`,
  ["-D", DATA, "-c", "listen_addresses=*", "-k", "/var/run/postgresql", ...args],
  as,
);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => server.kill("SIGINT"));
server.on("exit", (code) => process.exit(code ?? 1));

function initialise(): void {
  mkdirSync(DATA, { recursive: true });
  for (const path of ["/var/lib/postgresql", "/var/lib/postgresql/18", DATA])
    chownSync(path, POSTGRES, POSTGRES);
  const password = process.env["POSTGRES_PASSWORD_FILE"];
  const own = process.env["POSTGRES_PASSWORD"];
  if (own !== undefined) writeFileSync("/tmp/password", own, { mode: 0o644 });
  const file = password ?? "/tmp/password";
  execFileSync(
    `${BIN}/initdb`,
    [
      "-D",
      DATA,
      "-U",
      "postgres",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--auth-local=trust",
      "--auth-host=scram-sha-256",
      `--pwfile=${file}`,
    ],
    as,
  );
  writeFileSync(`${DATA}/pg_hba.conf`, "local all all trust\nhost all all all scram-sha-256\n");
  execFileSync(
    `${BIN}/pg_ctl`,
    ["-D", DATA, "-w", "-o", "-c listen_addresses='' -k /var/run/postgresql", "start"],
    as,
  );
  for (const name of existsSync(SCRIPTS) ? readdirSync(SCRIPTS).sort() : [])
    execFileSync("/bin/sh", [`${SCRIPTS}/${name}`], as);
  execFileSync(`${BIN}/pg_ctl`, ["-D", DATA, "-w", "stop"], as);
}
