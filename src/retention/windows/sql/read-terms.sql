-- What is set of retention (docs/retention.md), of client codes and of all that have nothing of their own (*).
select client_code, name, value from bellhop.property_setting
where property_code is null and name like 'retention.%'
order by client_code, name
