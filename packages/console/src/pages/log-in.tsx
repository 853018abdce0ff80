import { type FormEvent, useEffect, useState } from "react";
import { type CallError, forgetAnswers, logIn, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { useDeed } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Failure, Notice } from "../parts/page.tsx";
import { Copyable } from "../parts/values.tsx";
import { Brand } from "../shell/shell.tsx";

/** Shown at the address that was asked for, so that the login leads there. */
export function LogInPage() {
  const { data } = useSession();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const deed = useDeed();
  useEffect(() => {
    document.title = "Log in · Bellhop console";
    forgetAnswers();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(() => logIn(name, password));
  };
  return (
    <div className="sign-in">
      <main>
        <p className="brand">
          <Brand />
        </p>
        <h1>Log in to the console</h1>
        {data?.hasOperators === false && (
          <Notice tone="warn" title="Nobody can log in yet">
            <p>Create the first operator on the machine of the service:</p>
            <Copyable text="npm run bellhop -- operator create NAME" what="command" />
          </Notice>
        )}
        <LogInFailure error={deed.error} />
        <form className="form" onSubmit={submit}>
          <InputField
            label="Operator"
            autoComplete="username"
            autoCapitalize="none"
            required
            value={name}
            onChange={setName}
          />
          <InputField
            label="Password"
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={setPassword}
          />
          <Button type="submit" kind="main" busy={deed.busy}>
            {deed.busy ? "Logging in …" : "Log in"}
          </Button>
        </form>
      </main>
    </div>
  );
}

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
        To replace a forgotten password, run <code>npm run bellhop -- operator</code>.
      </Notice>
    );
  return <Failure error={error} />;
}
