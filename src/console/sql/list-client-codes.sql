select client_code as "clientCode", count(*)::integer as properties
from bellhop.property
group by client_code
order by client_code
limit $1
