-- The span that a batch was accepted in, so that what applies it, on whatever node, tells of the same trace
-- (src/observe/otlp/trace-context.ts: 25 bytes). Null where nobody traces.
alter table bellhop.accept_log add column trace_context bytea;
