import { rm } from "node:fs/promises";
import { temporaryDirectory } from "../support/test-server.ts";
import { NotHere } from "./campaign-command.ts";

/** Mounts a file system of its own in a new temporary directory, which it returns. Throws NotHere where nothing may be mounted. */
export async function mountHere(name: string, mount: (directory: string) => Promise<void>): Promise<string> {
  if (process.platform !== "linux") throw new NotHere(`a ${name} needs Linux`);
  if (process.getuid?.() !== 0) throw new NotHere(`only root may mount a ${name}`);
  const directory = await temporaryDirectory(name);
  try {
    await mount(directory);
  } catch (error) {
    await rm(directory, { recursive: true });
    const said = (error as { stderr?: string }).stderr?.trim();
    throw new NotHere(`no file system can be mounted here: ${said || (error as Error).message}`);
  }
  return directory;
}
