/** In the place of Grafana, for which no package registry has a program: reads its mounted files and answers its health check. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const {
  GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: dashboard = "",
  GF_SECURITY_ADMIN_PASSWORD__FILE: password = "",
} = process.env;
const { uid } = JSON.parse(readFileSync(dashboard, "utf8")) as { uid: string };
if (readFileSync(password, "utf8").trim() === "") throw new Error("no password");
createServer((_, response) => response.end(JSON.stringify({ database: "ok", uid }))).listen(3000);
process.on("SIGTERM", () => process.exit());
