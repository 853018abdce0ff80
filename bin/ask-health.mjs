/**
 * The container's health check, as the image has no curl: exit code 0 if the service responds with 200. Usage: node
 * bin/ask-health.mjs [/healthz | /readyz]
 */
import { get } from "node:http";

const PATIENCE_MS = 4_000;

const { HOST, PORT } = process.env;
const everywhere = HOST === undefined || HOST === "" || HOST === "0.0.0.0" || HOST === "::";
const options = {
  host: everywhere ? "127.0.0.1" : HOST,
  port: PORT || 8080,
  path: process.argv[2] ?? "/healthz",
};

get({ ...options, timeout: PATIENCE_MS, agent: false }, (response) => {
  response.resume();
  if (response.statusCode !== 200) console.error(`bellhop: ${options.path} says ${response.statusCode}`);
  process.exit(response.statusCode === 200 ? 0 : 1);
})
  .on("timeout", () => {
    console.error(`bellhop: ${options.path} does not answer`);
    process.exit(1);
  })
  .on("error", (error) => {
    console.error(`bellhop: ${options.path} cannot be asked: ${error.message}`);
    process.exit(1);
  });
