/** `npm run -s client:pack`: packs the client as npm would publish it, and prints the file's path. */
import { buildClient, packClient } from "./client-package.ts";

await buildClient();
const { tarball } = await packClient(process.cwd());
console.log(tarball);
