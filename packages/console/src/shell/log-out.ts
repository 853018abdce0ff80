import { type CallError, logOut } from "../data/queries.ts";
import { useSay } from "../parts/dialog.tsx";

/** Says why it failed: the session goes on. */
export function useLogOut(): () => void {
  const say = useSay();
  return () => void logOut().catch(({ message }: CallError) => say(message));
}
