import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

const SHOWN_MS = 6000;
const SayContext = createContext<(words: string) => void>(() => undefined);

/** Says what was done, in a corner and to screen readers. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [said, setSaid] = useState({ words: "", times: 0 });
  useEffect(() => {
    if (said.words === "") return;
    const timer = setTimeout(() => setSaid({ words: "", times: 0 }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const [say] = useState(() => (words: string) => setSaid(({ times }) => ({ words, times: times + 1 })));
  return (
    <SayContext value={say}>
      {children}
      <div className="toast" role="status">
        {said.words}
      </div>
    </SayContext>
  );
}

/** Says what was done. */
export function useSay(): (words: string) => void {
  return useContext(SayContext);
}
