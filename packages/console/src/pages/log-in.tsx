import { type FormEvent, useEffect, useState } from "react";
import { logIn, useSession } from "../data/queries.ts";
import { forgetAnswers } from "../data/query-client.ts";
import { Button } from "../parts/button.tsx";
import { Copyable } from "../parts/copyable.tsx";
import { Field } from "../parts/field.tsx";
import { Failure, Notice } from "../parts/states.tsx";
import { useDeed } from "../parts/use-deed.ts";
import { Brand } from "../shell/brand.tsx";

/** Stands at the address that was asked for, so that a login leads there. */
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
        {data?.hasOperators === false ? <NoOperators /> : null}
        {deed.error === null ? null : <LogInFailure error={deed.error} />}
        <form className="form" onSubmit={submit}>
          <Field label="Operator">
            {(tied) => (
              <input
                {...tied}
                value={name}
                required
                autoComplete="username"
                autoCapitalize="none"
                spellCheck={false}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field label="Password">
            {(tied) => (
              <input
                {...tied}
                type="password"
                value={password}
                required
                autoComplete="current-password"
                onChange={(event) => setPassword(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit" kind="main" busy={deed.busy}>
            {deed.busy ? "Logging in …" : "Log in"}
          </Button>
        </form>
      </main>
    </div>
  );
}

function NoOperators() {
  return (
    <Notice tone="warn" title="Nobody can log in yet">
      <p>Make the first operator on the machine of the service:</p>
      <Copyable text="npm run bellhop -- operator create NAME" what="command" />
    </Notice>
  );
}

function LogInFailure({ error }: { readonly error: NonNullable<ReturnType<typeof useDeed>["error"]> }) {
  if (error.status === 429)
    return (
      <Notice tone="bad" title="Too many attempts">
        Try again in {error.retryAfterSeconds ?? 60} seconds.
      </Notice>
    );
  if (error.status === 401)
    return (
      <Notice tone="bad" title={error.message}>
        A forgotten password is replaced with <code>npm run bellhop -- operator</code>.
      </Notice>
    );
  return <Failure error={error} />;
}
