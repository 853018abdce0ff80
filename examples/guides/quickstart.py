from bellhop import PROPERTY, now, outcome, push

batch = [
    {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "createDateTime": now(),
        "occupancyDate": "2027-06-01",
        "roomTypeInventories": [
            {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 31},
        ],
    }
]
request = push("inventories", batch)
print("accepted:", request)

became = outcome(request)
print(became["status"], became["counts"]["applied"], "of", became["counts"]["records"])
