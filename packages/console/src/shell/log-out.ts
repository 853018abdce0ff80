import { type CallError, logOut } from "../data/queries.ts";
import { useSay } from "../parts/dialog.tsx";

/** Reports a failed logout, after which the session continues. */
export function useLogOut(): () => void {
  const say = useSay();
  return () => void logOut().catch(({ message }: CallError) => say(message));
}
