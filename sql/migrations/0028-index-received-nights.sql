-- concurrently: appliers write entries while it is built.
-- Entries lie nearly in the order of their receipt: what is not packed yet (0024) is found by a few kilobytes of ranges, which cost
-- an insert nothing.
create index concurrently night_entry_received on bellhop_state.night_entry using brin (received_at) with (autosummarize = on);
