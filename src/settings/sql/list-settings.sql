-- What is set, of one client code or of all: first what is said of the client code, then of its properties.
select client_code as "clientCode", property_code as "propertyCode", name, value, changed_at as "changedAt"
from bellhop.property_setting
where $1::text is null or client_code = $1
order by client_code, property_code nulls first, name
