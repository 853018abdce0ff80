-- The number of the settings stays: answers that were given name it.
with labels as (
  delete from bellhop.status_mapping where client_code = $1
)
delete from bellhop.property_setting where client_code = $1
