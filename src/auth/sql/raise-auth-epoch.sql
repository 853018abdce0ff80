-- The row's lock puts changes of auth data one after another until their transactions end.
update bellhop.auth_epoch set epoch = epoch + 1 returning epoch::text as epoch
