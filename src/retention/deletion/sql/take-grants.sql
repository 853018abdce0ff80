-- Nobody may push or read the client code from now on; nodes hear of it as of every change of clients.
with raised as (
  update bellhop.auth_epoch set epoch = epoch + 1 returning epoch
), taken as (
  delete from bellhop.client_grant where client_code = $1 returning client_id
)
update bellhop.client set changed_epoch = raised.epoch
from raised where client_id in (select client_id from taken)
