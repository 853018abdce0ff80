/** The control for the noise: a server that reads every body and responds 202. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer(
  { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
  (request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(202, { "content-length": "0" }).end());
    request.on("error", () => undefined);
  },
);

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
