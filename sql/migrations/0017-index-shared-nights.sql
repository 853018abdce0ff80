-- Shared rooms are settled night by night when they are asked for (src/insight/sql): their entries, which are few, by
-- themselves. Without it that part of a question would read every entry of a property once more, or of all.
create index night_entry_shared on bellhop_state.night_entry (property_id, first_night) where share_id is not null;
