-- What the revenue of a dimension is of under the status mapping, if not of room nights (docs/figures.md).
case
  when cause is null then null
  when deducts and cause in ('dayUse', 'dayUsePosted') then 'dayUse'
  when deducts and cause = 'outsideStay' then cause
  when is_off and cause <> 'dayUse' then 'fee'
end
