-- A row if all that is stripped is still as of $1; nobody raises the number before the transaction ends.
select from bellhop.privacy_version where version = $1::bigint for share
