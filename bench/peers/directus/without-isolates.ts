/**
 * `isolated-vm` is compiled when it is installed, with headers that npm fetches from outside the registry. Directus has it
 * for extensions in a sandbox and for scripts in flows, none of which is here: another module takes its place.
 */
import { registerHooks } from "node:module";

registerHooks({
  resolve: (specifier, context, next) => next(specifier === "isolated-vm" ? "node:vm" : specifier, context),
});
