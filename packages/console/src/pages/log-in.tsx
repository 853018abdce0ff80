import { type FormEvent, useEffect, useState } from "react";
import { CONSOLE_API } from "../contract.ts";
import { CallError, forgetAnswers, logIn, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { typed, useDeed } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Failure, Notice } from "../parts/page.tsx";
import { Copyable } from "../parts/values.tsx";
import { Brand } from "../shell/shell.tsx";

/** Shown at the requested address, so that the login continues there. */
export function LogInPage() {
  const { data } = useSession();
  const [asksCode, setAsksCode] = useState(false);
  const refused = new URLSearchParams(location.search).get("refused");
  const deed = useDeed();
  useEffect(() => {
    document.title = "Log in · Bellhop console";
    forgetAnswers();
  }, []);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    deed.run(async () => {
      try {
        const [name, password] = [String(form.get("name")), String(form.get("password"))];
        await logIn(name, password, asksCode ? typed(form, "code") : undefined);
      } catch (error) {
        if (!(error instanceof CallError) || error.exception !== "bellhop.console.CodeNeeded") throw error;
        setAsksCode(true);
      }
    });
  };
  return (
    <div className="sign-in">
      <main>
        <p className="brand">
          <Brand />
        </p>
        <h1>Log in to the console</h1>
        {data?.hasOperators === false && (
          <Notice tone="warn" title="No operator exists yet">
            <p>Create the first operator on the server:</p>
            <Copyable text="npm run bellhop -- operator create NAME" what="command" />
          </Notice>
        )}
        {refused !== null && deed.error === null ? (
          <Notice tone="bad" title="Single sign-on was refused">
            {REFUSALS[refused] ?? "Try again, or log in with a password."}
          </Notice>
        ) : null}
        <LogInFailure error={deed.error} />
        <form className="form" onSubmit={submit}>
          <InputField label="Operator" name="name" autoComplete="username" autoCapitalize="none" required />
          <InputField
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
          />
          {asksCode ? (
            <InputField
              label="Code of your authenticator app"
              name="code"
              hint="Or one of your recovery codes."
              autoComplete="one-time-code"
              autoFocus
              required
            />
          ) : null}
          <Button type="submit" kind="main" busy={deed.busy}>
            {deed.busy ? "Logging in…" : "Log in"}
          </Button>
        </form>
        {data?.singleSignOn == null ? null : (
          <p className="sign-on">
            <a className="button" data-kind="plain" href={`${CONSOLE_API}/oidc/start`}>
              Log in with {data.singleSignOn.host}
            </a>
          </p>
        )}
      </main>
    </div>
  );
}

/** Texts for the reasons why single sign-on was refused (`SignOnRefusal`). */
const REFUSALS: Readonly<Record<string, string>> = {
  provider: "The provider could not be reached, or its answer was not valid. Try again.",
  expired: "It took too long, or began in another browser. Try again.",
  denied: "The provider did not let you in.",
  email:
    "The provider does not vouch for an email address of your account. Ask an admin to add the account by its subject.",
  unknown: "Your account is not an operator of this console. Ask an admin to add its email address.",
  disabled: "Your account is disabled here. Ask an admin.",
  attempts: "There were too many attempts from your network. Try again in five minutes.",
};

function LogInFailure({ error }: { error: CallError | null }) {
  if (error?.status === 429)
    return (
      <Notice tone="bad" title="Too many attempts">
        Try again in {error.retryAfterSeconds ?? 60} seconds.
      </Notice>
    );
  if (error?.status === 401)
    return (
      <Notice tone="bad" title={error.message}>
        {error.exception === "bellhop.console.CodeWrong" ? (
          "A code is good once: wait for the next one. An admin can reset the codes of a lost device."
        ) : (
          <>
            To replace a forgotten password, run <code>npm run bellhop -- operator</code>.
          </>
        )}
      </Notice>
    );
  return <Failure error={error} />;
}
