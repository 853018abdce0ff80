import { existsSync } from "node:fs";
import { join } from "node:path";

const NODE_MAJOR_MIN = 24;

/**
 * The pinned Node of this platform, once the packages are installed; else the one that runs this. Throws where that is
 * too old.
 *
 * @param {string} root the checkout
 */
export function findNode(root) {
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    const path = join(root, "node_modules", name, "bin", "node");
    if (existsSync(path)) return path;
  }
  return ownNode();
}

/** The Node that runs this script. Throws if it is too old. */
export function ownNode() {
  if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR_MIN) return process.execPath;
  throw new Error(
    `there is no Node of ours for this platform: install Node ${NODE_MAJOR_MIN} (this is ${process.version})`,
  );
}
