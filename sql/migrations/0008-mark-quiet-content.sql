-- Whether a record of this content is sure to have no warnings, of its own or of its context. Such a record sent again is
-- told to be unchanged without being parsed. (False is always right, and only slower.)
alter table bellhop_state.current_record add column quiet boolean not null default false;
