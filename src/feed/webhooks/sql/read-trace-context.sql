-- The span that the request $1 was accepted in, where it was traced. An index scan of the log's request ids.
select encode(trace_context, 'hex') as trace_context from bellhop.accept_log where request_id = $1 and trace_context is not null limit 1
