# 1. A token: bellhop.sh requests and stores it.
. ./bellhop.sh

# 2. A batch: a JSON array of records of one kind. The response is 202 with the id of the request.
REQUEST=$(push inventories <<BATCH
[{
  "clientCode": "DEMO",
  "propertyCode": "$PROPERTY",
  "createDateTime": "$(now)",
  "occupancyDate": "2027-06-01",
  "roomTypeInventories": [
    {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 31}
  ]
}]
BATCH
)
echo "accepted: $REQUEST"

# 3. Its outcome. The response arrives as soon as the batch is applied.
outcome "$REQUEST" | grep -o '"status":"[a-z]*"\|"counts":{[^}]*}'
