-- As before, without parsing what was parsed just now (of 1,000 records that are held, to find that none is warned of). Details are
-- written as JSON without spaces (src/apply/apply-parts.ts), and a quote within a text has a backslash before it: this is a name.
create or replace function bellhop.count_warned(details json) returns integer
  language sql immutable strict parallel safe
  return (octet_length(details::text) - octet_length(replace(details::text, '"warnings":', ''))) / octet_length('"warnings":');
