"""By the Python client of openapi-generator: pushes three records of each resource, reads them back, pages through them."""

import os
from datetime import date

import openapi_client as bellhop

PROPERTY = os.environ["PROPERTY"]
TIME = "2026-06-01T08:30:00.123456Z"
HOTEL = {"client_code": "DEMO", "property_code": PROPERTY}
EVERY = (1, 2, 3)


def night(number):
    rooms = bellhop.RoomTypeInventory(
        room_type_code="DLX",
        room_type_capacity=40,
        rooms_sold=31,
    )
    return bellhop.Inventory(
        **HOTEL,
        create_date_time=TIME,
        occupancy_date=date(2027, 6, number),
        room_type_inventories=[rooms],
        additional_properties={"ownField": "kept"},
    )


def reservation(number):
    stay = bellhop.RoomStay(
        arrival_date=date(2027, 6, 1), departure_date=date(2027, 6, 3), room_type_code="DLX"
    )
    return bellhop.Reservation(
        **HOTEL,
        last_modified_date_time=TIME,
        reservation_id=f"R-{number}",
        status="CONFIRMED",
        primary_sharer=True,
        sharers=["R-9"],
        room_stays=[stay],
    )


def group(number):
    block = bellhop.GroupBlock(
        occupancy_date=date(2027, 6, 1),
        room_type_code="DLX",
        blocks=20,
        single_person_rate="140.00",
    )
    return bellhop.Group(
        **HOTEL,
        last_modified_date_time=TIME,
        group_code=f"G-{number}",
        group_status_code="DEFINITE",
        start_date=date(2027, 6, 1),
        end_date=date(2027, 6, 2),
        group_blocks=[block],
    )


def given(value):
    """What has a value: what was read has None for each missing field that may be null."""
    if isinstance(value, dict):
        return {name: given(inner) for name, inner in value.items() if inner is not None}
    return [given(inner) for inner in value] if isinstance(value, list) else value


def all_of(fetch):
    """The records of every page, and how many pages there were."""
    records, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = fetch(**HOTEL, limit=2, cursor=cursor)
        records += page.items
        pages += 1
        cursor = page.next_cursor
    return records, pages


configuration = bellhop.Configuration(host=os.environ["BASE_URL"])
with bellhop.ApiClient(configuration) as client:
    token = bellhop.TokensApi(client).issue_token(
        "client_credentials", client_id=os.environ["CLIENT_ID"], client_secret=os.environ["CLIENT_SECRET"]
    )
    configuration.access_token = token.access_token
    push, requests, lists = bellhop.PushApi(client), bellhop.RequestsApi(client), bellhop.RecordsApi(client)
    for accepted in (
        push.push_inventories([night(n) for n in EVERY]),
        push.push_reservations([reservation(n) for n in EVERY]),
        push.push_groups([group(n) for n in EVERY]),
    ):
        outcome = requests.get_request(accepted.request_id, prefer="wait=10")
        assert (outcome.status, outcome.counts.applied) == ("applied", 3), outcome
        for record in outcome.records:
            print("outcome", record.outcome)
            for warning in record.warnings:
                print("warning", warning.code)
    print("pushed")

    nights, inventory_pages = all_of(lists.list_inventories)
    reservations, reservation_pages = all_of(lists.list_reservations)
    groups, group_pages = all_of(lists.list_groups)
    assert [given(one.to_dict()) for one in nights] == [given(night(n).to_dict()) for n in EVERY], nights
    assert [given(one.to_dict()) for one in reservations] == [given(reservation(n).to_dict()) for n in EVERY], reservations
    assert [given(one.to_dict()) for one in groups] == [given(group(n).to_dict()) for n in EVERY], groups
    print("read back")
    assert (inventory_pages, reservation_pages, group_pages) == (2, 2, 2)
    print("paged")
