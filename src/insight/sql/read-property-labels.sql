-- Every label of the property $2 in the bucket $1 that the ledger knows. A property's dimensions are few; its records are not.
select distinct status as label
from bellhop_state.night_dimension
where bucket = $1 and property_id = $2 and status is not null
order by status
